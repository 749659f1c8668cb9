-- AlterTable
ALTER TABLE "vault" ADD COLUMN     "ledger_block" BIGINT,
ADD COLUMN     "ledger_in_order" BOOLEAN NOT NULL DEFAULT true;

-- CreateIndex
CREATE INDEX "ledger_row_vault_address_ts_idx" ON "ledger_row"("vault_address", "ts");


-- The rows that are stored already

UPDATE "vault" SET "ledger_block" = ledger."block", "ledger_in_order" = ledger."in_order"
  FROM (
    SELECT "vault_address", max("block") AS "block", bool_and(coalesce("before" <= "block", true)) AS "in_order"
    FROM (
      SELECT "vault_address", "block",
        max("block") OVER (PARTITION BY "vault_address" ORDER BY "ts" GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "before"
      FROM "ledger_row") ledger_row
    GROUP BY "vault_address") ledger
  WHERE "address" = ledger."vault_address";


-- What keeps wrong states out, and is beyond what schema.prisma can say: an empty ledger is in order

ALTER TABLE "vault" ADD CONSTRAINT "vault_ledger" CHECK ("ledger_block" >= 0 AND ("ledger_block" IS NOT NULL OR "ledger_in_order"));
