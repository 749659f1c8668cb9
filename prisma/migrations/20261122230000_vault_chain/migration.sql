-- AlterTable
ALTER TABLE "vault" ADD COLUMN     "chain_id" BIGINT;


-- Beyond what schema.prisma can say

ALTER TABLE "vault" ADD CONSTRAINT "vault_chain_id" CHECK ("chain_id" > 0);
