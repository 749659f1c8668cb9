-- CreateTable
CREATE TABLE "equity_page" (
    "vault_address" TEXT NOT NULL,
    "level" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "candidates" TEXT NOT NULL,

    CONSTRAINT "equity_page_pkey" PRIMARY KEY ("vault_address","level","ordinal")
);

-- AddForeignKey
ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What follows is beyond what schema.prisma can say: it keeps wrong states out, and pages as they are read

ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_place" CHECK ("level" BETWEEN 1 AND 12 AND "ordinal" >= 0);
-- Both ends of each bucket
ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_candidates" CHECK (
  length("candidates") - length(replace("candidates", E'\n', '')) = 2 * 64 - 1);
-- Packing would save little, and unpacking costs more than all else of a read
ALTER TABLE "equity_page" ALTER COLUMN "candidates" SET STORAGE EXTERNAL;


-- The buckets that are stored already, where 64 of a level make a page

INSERT INTO "equity_page"
  SELECT "vault_address", "level", "ordinal" / 64, string_agg(concat_ws(' ', "ts", trim_scale("net_usd"),
      trim_scale("value_usd"), trim_scale("capital_in_usd"), trim_scale("capital_out_usd")), E'\n' ORDER BY "ordinal", "ts")
  FROM "equity_bucket" CROSS JOIN LATERAL (VALUES
      ("least_ts", "least_value_usd" + "least_capital_out_usd" - "least_capital_in_usd",
        "least_value_usd", "least_capital_in_usd", "least_capital_out_usd"),
      ("greatest_ts", "greatest_value_usd" + "greatest_capital_out_usd" - "greatest_capital_in_usd",
        "greatest_value_usd", "greatest_capital_in_usd", "greatest_capital_out_usd")
    ) AS "point"("ts", "net_usd", "value_usd", "capital_in_usd", "capital_out_usd")
  GROUP BY "vault_address", "level", "ordinal" / 64
  HAVING count(*) = 2 * 64;
