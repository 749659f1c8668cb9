-- CreateTable
CREATE TABLE "ledger_tally" (
    "vault_address" TEXT NOT NULL,
    "ts" BIGINT NOT NULL,
    "deposit" INTEGER NOT NULL,
    "withdraw" INTEGER NOT NULL,
    "plant" INTEGER NOT NULL,
    "rebalance" INTEGER NOT NULL,
    "harvest" INTEGER NOT NULL,
    "exit" INTEGER NOT NULL,
    "fee" INTEGER NOT NULL,
    "suspend" INTEGER NOT NULL,
    "resume" INTEGER NOT NULL,

    CONSTRAINT "ledger_tally_pkey" PRIMARY KEY ("vault_address","ts")
);

-- AddForeignKey
ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;


-- Beyond what schema.prisma can say: a tally counts a row at least, and none is negative

ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_counts" CHECK (
  "deposit" >= 0 AND "withdraw" >= 0 AND "plant" >= 0 AND "rebalance" >= 0 AND "harvest" >= 0
  AND "exit" >= 0 AND "fee" >= 0 AND "suspend" >= 0 AND "resume" >= 0
  AND "deposit" + "withdraw" + "plant" + "rebalance" + "harvest" + "exit" + "fee" + "suspend" + "resume" > 0);
ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_times" CHECK ("ts" >= 0);


-- The rows that are stored already: a tally at each second with whose rows another 64 are complete, and at the newest

INSERT INTO "ledger_tally"
  SELECT "vault_address", "ts", "deposit", "withdraw", "plant", "rebalance", "harvest", "exit", "fee", "suspend", "resume"
  FROM (
    SELECT "vault_address", "ts", count(*) AS "rows", sum(count(*)) OVER "upto" AS "total", lead("ts") OVER "upto" IS NULL AS "is_newest",
      sum(count(*) FILTER (WHERE "type" = 'deposit')) OVER "upto" AS "deposit",
      sum(count(*) FILTER (WHERE "type" = 'withdraw')) OVER "upto" AS "withdraw",
      sum(count(*) FILTER (WHERE "type" = 'plant')) OVER "upto" AS "plant",
      sum(count(*) FILTER (WHERE "type" = 'rebalance')) OVER "upto" AS "rebalance",
      sum(count(*) FILTER (WHERE "type" = 'harvest')) OVER "upto" AS "harvest",
      sum(count(*) FILTER (WHERE "type" = 'exit')) OVER "upto" AS "exit",
      sum(count(*) FILTER (WHERE "type" = 'fee')) OVER "upto" AS "fee",
      sum(count(*) FILTER (WHERE "type" = 'suspend')) OVER "upto" AS "suspend",
      sum(count(*) FILTER (WHERE "type" = 'resume')) OVER "upto" AS "resume"
    FROM "ledger_row" GROUP BY "vault_address", "ts"
    WINDOW "upto" AS (PARTITION BY "vault_address" ORDER BY "ts")) "second"
  WHERE "is_newest" OR div("total", 64) > div("total" - "rows", 64);
