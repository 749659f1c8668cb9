-- AlterTable
ALTER TABLE "commit_log" ADD COLUMN     "ledger_rows" INTEGER;

-- AlterTable
ALTER TABLE "ledger_row" ADD COLUMN     "commit_nonce" BIGINT;


-- Beyond what schema.prisma can say

ALTER TABLE "commit_log" ADD CONSTRAINT "commit_log_ledger_rows" CHECK ("ledger_rows" >= 0);

-- Rows of a commit, in the order of commits. Rows that were stored before have no commit, and are not in it.
CREATE INDEX "ledger_row_commit_nonce_idx" ON "ledger_row" ("commit_nonce") WHERE "commit_nonce" IS NOT NULL;
