-- AlterTable: the sum of all vaults of a strategy, each of which may have the largest value. More digits before the
-- point need no rewrite of the rows.
ALTER TABLE "strategy_day" ALTER COLUMN "change_usd" SET DATA TYPE DECIMAL(50,6);
