-- CreateTable
CREATE TABLE "vault_pool" (
    "vault_id" INTEGER NOT NULL,
    "a" TEXT NOT NULL,
    "b" TEXT NOT NULL,
    "venue" TEXT NOT NULL,

    CONSTRAINT "vault_pool_pkey" PRIMARY KEY ("vault_id","a","b","venue")
);

-- CreateIndex
CREATE INDEX "vault_pool_a_b_venue_vault_id_idx" ON "vault_pool"("a", "b", "venue", "vault_id");

-- CreateIndex
CREATE INDEX "vault_pool_venue_vault_id_idx" ON "vault_pool"("venue", "vault_id");

-- AddForeignKey
ALTER TABLE "vault_pool" ADD CONSTRAINT "vault_pool_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- The positions that are stored already

INSERT INTO "vault_pool" ("vault_id", "a", "b", "venue") SELECT DISTINCT "vault_id", "a", "b", "venue" FROM "position";


-- Indexes of the order of ledgers, which is beyond what schema.prisma can say: by block and log index in one number, which takes
-- no more bytes than the block. 42 bits are of the block and 21 of the log index.

DROP INDEX "ledger_row_vault_id_block_idx";
DROP INDEX "ledger_row_vault_id_type_block_idx";
CREATE INDEX "ledger_row_vault_id_place_idx" ON "ledger_row" ("vault_id", ((least("block", 4398046511103) * 2097152 + least("log_index", 2097151))));
CREATE INDEX "ledger_row_vault_id_type_place_idx" ON "ledger_row" ("vault_id", "type", ((least("block", 4398046511103) * 2097152 + least("log_index", 2097151))));
