-- DropIndex
DROP INDEX "vault_value_usd_address_idx";


-- What follows is beyond what schema.prisma can say: the order of digits, which is the same under any collation.

-- Checksummed addresses have digits in both cases
DROP INDEX "vault_address_in_any_case";
CREATE UNIQUE INDEX "vault_address_in_any_case" ON "vault" ((lower("address") COLLATE "C"));
CREATE INDEX "vault_value_usd_and_address" ON "vault" ("value_usd", (lower("address") COLLATE "C"));

-- Hashes are in lower case; their indexes follow
ALTER TABLE "ledger_row" ALTER COLUMN "tx_hash" TYPE TEXT COLLATE "C";
