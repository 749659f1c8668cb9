-- AlterTable
ALTER TABLE "vault" ADD COLUMN     "fees_told" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "high_water_told" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "vault_owner" (
    "vault_address" TEXT NOT NULL,
    "ts" BIGINT NOT NULL,
    "owner" TEXT NOT NULL,
    "digest" TEXT,

    CONSTRAINT "vault_owner_pkey" PRIMARY KEY ("vault_address","ts")
);

-- AddForeignKey
ALTER TABLE "vault_owner" ADD CONSTRAINT "vault_owner_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What follows keeps wrong states out, and is beyond what schema.prisma can say.
ALTER TABLE "vault_owner" ADD CONSTRAINT "vault_owner_form" CHECK ("owner" ~ '^0x[0-9a-fA-F]{40}$' AND "ts" >= 0);

-- Until now a vault has had one owner
INSERT INTO "vault_owner" ("vault_address", "ts", "owner") SELECT "address", "opened_at", "owner" FROM "vault";

-- Until now a vault whose marks told no fee summary had one of zeros. One that tells what would be derived counts as derived
WITH "derived" AS (
  SELECT "address", "capital_in_usd", "capital_out_usd",
    (SELECT coalesce(sum("amount_usd"), 0) FROM "ledger_row" WHERE "vault_address" = "address" AND "type" = 'fee') AS "taxed_usd",
    (SELECT greatest(0, max("net_usd")) FROM "equity_point" WHERE "vault_address" = "address") AS "high_water_usd"
  FROM "vault"
), "told" AS (
  SELECT "address", ("fees_contributed_usd", "fees_withdrawn_usd", "fees_taxed_usd", "fees_high_water_usd") <> (0, 0, 0, 0)
    AND ("fees_contributed_usd", "fees_withdrawn_usd", "fees_taxed_usd")
      <> ("derived"."capital_in_usd", "derived"."capital_out_usd", "derived"."taxed_usd") AS "is_told"
  FROM "vault" JOIN "derived" USING ("address")
)
UPDATE "vault" SET
  "fees_told" = "is_told",
  "high_water_told" = "is_told",
  "fees_contributed_usd" = CASE WHEN "is_told" THEN "fees_contributed_usd" ELSE "vault"."capital_in_usd" END,
  "fees_withdrawn_usd" = CASE WHEN "is_told" THEN "fees_withdrawn_usd" ELSE "vault"."capital_out_usd" END,
  "fees_taxed_usd" = CASE WHEN "is_told" THEN "fees_taxed_usd" ELSE "derived"."taxed_usd" END,
  "fees_high_water_usd" = CASE WHEN "is_told" THEN "fees_high_water_usd" ELSE greatest("fees_high_water_usd", "derived"."high_water_usd") END
FROM "derived" JOIN "told" USING ("address") WHERE "vault"."address" = "derived"."address";
