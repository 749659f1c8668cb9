-- AlterTable
ALTER TABLE "vault" ADD COLUMN     "point_count" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "equity_bucket" (
    "vault_address" TEXT NOT NULL,
    "level" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "first_ts" BIGINT NOT NULL,
    "least_ts" BIGINT NOT NULL,
    "least_value_usd" DECIMAL(38,6) NOT NULL,
    "least_capital_in_usd" DECIMAL(38,6) NOT NULL,
    "least_capital_out_usd" DECIMAL(38,6) NOT NULL,
    "greatest_ts" BIGINT NOT NULL,
    "greatest_value_usd" DECIMAL(38,6) NOT NULL,
    "greatest_capital_in_usd" DECIMAL(38,6) NOT NULL,
    "greatest_capital_out_usd" DECIMAL(38,6) NOT NULL,

    CONSTRAINT "equity_bucket_pkey" PRIMARY KEY ("vault_address","level","ordinal")
);

-- CreateIndex
CREATE UNIQUE INDEX "equity_bucket_vault_address_level_first_ts_key" ON "equity_bucket"("vault_address", "level", "first_ts");

-- AddForeignKey
ALTER TABLE "equity_bucket" ADD CONSTRAINT "equity_bucket_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What follows keeps wrong states out, and is beyond what schema.prisma can say.

ALTER TABLE "equity_bucket" ADD CONSTRAINT "equity_bucket_place" CHECK ("level" BETWEEN 1 AND 15 AND "ordinal" >= 0);
ALTER TABLE "equity_bucket" ADD CONSTRAINT "equity_bucket_times" CHECK (
  "first_ts" >= 0 AND "least_ts" >= "first_ts" AND "greatest_ts" >= "first_ts");
ALTER TABLE "equity_bucket" ADD CONSTRAINT "equity_bucket_amounts" CHECK (
  "least_value_usd" BETWEEN 0 AND 1e32 AND "least_capital_in_usd" BETWEEN 0 AND 1e32 AND "least_capital_out_usd" BETWEEN 0 AND 1e32
  AND "greatest_value_usd" BETWEEN 0 AND 1e32 AND "greatest_capital_in_usd" BETWEEN 0 AND 1e32 AND "greatest_capital_out_usd" BETWEEN 0 AND 1e32);
-- One point stands for both ends, or two points of which the least is not the greater
ALTER TABLE "equity_bucket" ADD CONSTRAINT "equity_bucket_order" CHECK (CASE "least_ts" WHEN "greatest_ts"
  THEN "least_value_usd" = "greatest_value_usd" AND "least_capital_in_usd" = "greatest_capital_in_usd"
    AND "least_capital_out_usd" = "greatest_capital_out_usd"
  ELSE "least_value_usd" + "least_capital_out_usd" - "least_capital_in_usd"
    < "greatest_value_usd" + "greatest_capital_out_usd" - "greatest_capital_in_usd" END);


-- The points that are stored already

UPDATE "vault" SET "point_count" = counted."points"
  FROM (SELECT "vault_address", count(*) AS "points" FROM "equity_point" GROUP BY "vault_address") counted
  WHERE "address" = counted."vault_address";

-- After the count, which it is about
ALTER TABLE "vault" ADD CONSTRAINT "vault_point_count" CHECK ("point_count" >= 0 AND ("point_count" = 0) = ("equity_at" IS NULL));

-- Arrays are compared from their first element on: by net of flows, then by time, where the earlier of equals stands
INSERT INTO "equity_bucket"
  SELECT "vault_address", 1, "place" / 4, min("ts"), (min("low"))[2], (min("low"))[3], (min("low"))[4], (min("low"))[5],
    -(max("high"))[2], (max("high"))[3], (max("high"))[4], (max("high"))[5]
  FROM (SELECT "vault_address", "ts",
      row_number() OVER (PARTITION BY "vault_address" ORDER BY "ts") - 1 AS "place",
      ARRAY["net_usd", "ts", "value_usd", "capital_in_usd", "capital_out_usd"] AS "low",
      ARRAY["net_usd", -"ts", "value_usd", "capital_in_usd", "capital_out_usd"] AS "high"
    FROM "equity_point") point JOIN "vault" ON "address" = "vault_address"
  WHERE "place" < ("point_count" - 1) / 4 * 4
  GROUP BY "vault_address", "place" / 4;

DO $$ BEGIN
  FOR below IN 1..14 LOOP
    INSERT INTO "equity_bucket"
      SELECT "vault_address", below + 1, "ordinal" / 4, min("first_ts"),
        (min("low"))[2], (min("low"))[3], (min("low"))[4], (min("low"))[5],
        -(max("high"))[2], (max("high"))[3], (max("high"))[4], (max("high"))[5]
      FROM (SELECT "vault_address", "ordinal", "first_ts",
          ARRAY["least_value_usd" + "least_capital_out_usd" - "least_capital_in_usd",
            "least_ts", "least_value_usd", "least_capital_in_usd", "least_capital_out_usd"] AS "low",
          ARRAY["greatest_value_usd" + "greatest_capital_out_usd" - "greatest_capital_in_usd",
            -"greatest_ts", "greatest_value_usd", "greatest_capital_in_usd", "greatest_capital_out_usd"] AS "high"
        FROM "equity_bucket" WHERE "level" = below) bucket
      GROUP BY "vault_address", "ordinal" / 4
      HAVING count(*) = 4;
    EXIT WHEN NOT FOUND;
  END LOOP;
END $$;
