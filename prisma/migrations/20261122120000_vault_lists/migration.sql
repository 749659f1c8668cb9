-- AlterTable
ALTER TABLE "vault" ADD COLUMN     "owner_is_large" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "strategy_tally" (
    "strategy_id" TEXT NOT NULL,
    "idle" INTEGER NOT NULL,
    "planting" INTEGER NOT NULL,
    "earning" INTEGER NOT NULL,
    "attention" INTEGER NOT NULL,
    "exiting" INTEGER NOT NULL,
    "suspended" INTEGER NOT NULL,

    CONSTRAINT "strategy_tally_pkey" PRIMARY KEY ("strategy_id")
);

-- CreateTable
CREATE TABLE "owner_tally" (
    "owner" TEXT NOT NULL,
    "strategy_id" TEXT NOT NULL,
    "idle" INTEGER NOT NULL,
    "planting" INTEGER NOT NULL,
    "earning" INTEGER NOT NULL,
    "attention" INTEGER NOT NULL,
    "exiting" INTEGER NOT NULL,
    "suspended" INTEGER NOT NULL,
    "large" INTEGER NOT NULL,

    CONSTRAINT "owner_tally_pkey" PRIMARY KEY ("owner","strategy_id")
);

-- AddForeignKey
ALTER TABLE "strategy_tally" ADD CONSTRAINT "strategy_tally_strategy_id_fkey" FOREIGN KEY ("strategy_id") REFERENCES "strategy"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "owner_tally" ADD CONSTRAINT "owner_tally_strategy_id_fkey" FOREIGN KEY ("strategy_id") REFERENCES "strategy"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- Beyond what schema.prisma can say: no tally is negative

ALTER TABLE "strategy_tally" ADD CONSTRAINT "strategy_tally_counts" CHECK (
  "idle" >= 0 AND "planting" >= 0 AND "earning" >= 0 AND "attention" >= 0 AND "exiting" >= 0 AND "suspended" >= 0);
ALTER TABLE "owner_tally" ADD CONSTRAINT "owner_tally_counts" CHECK (
  "idle" >= 0 AND "planting" >= 0 AND "earning" >= 0 AND "attention" >= 0 AND "exiting" >= 0 AND "suspended" >= 0
  AND "large" BETWEEN 0 AND "idle" + "planting" + "earning" + "attention" + "exiting" + "suspended");


-- The vaults that are stored already: an owner is large from its 17th vault on

UPDATE "vault" SET "owner_is_large" = true
  FROM (SELECT "address" AS "of", row_number() OVER (PARTITION BY "owner" ORDER BY "opened_at", "address" COLLATE "C") AS "place" FROM "vault") placed
  WHERE "address" = "of" AND "place" > 16;

INSERT INTO "strategy_tally"
  SELECT "strategy_id", count(*) FILTER (WHERE "status" = 'idle'), count(*) FILTER (WHERE "status" = 'planting'),
    count(*) FILTER (WHERE "status" = 'earning'), count(*) FILTER (WHERE "status" = 'attention'),
    count(*) FILTER (WHERE "status" = 'exiting'), count(*) FILTER (WHERE "status" = 'suspended')
  FROM "vault" GROUP BY "strategy_id";
INSERT INTO "owner_tally"
  SELECT "owner", "strategy_id", count(*) FILTER (WHERE "status" = 'idle'), count(*) FILTER (WHERE "status" = 'planting'),
    count(*) FILTER (WHERE "status" = 'earning'), count(*) FILTER (WHERE "status" = 'attention'),
    count(*) FILTER (WHERE "status" = 'exiting'), count(*) FILTER (WHERE "status" = 'suspended'),
    count(*) FILTER (WHERE "owner_is_large")
  FROM "vault" GROUP BY "owner", "strategy_id";


-- Indexes of the lists. The bytes of the address decide between equals: they are in one order under any collation.

DROP INDEX "vault_value_usd_and_address";
DROP INDEX "vault_strategy_id_idx";
DROP INDEX "vault_owner_idx";
CREATE INDEX "vault_owner_idx" ON "vault" ("owner") WHERE NOT "owner_is_large";
CREATE INDEX "vault_status_value" ON "vault" ("status", "value_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_strategy_status_value" ON "vault" ("strategy_id", "status", "value_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_owner_status_value" ON "vault" ("owner", "strategy_id", "status", "value_usd", (decode(substr("address", 3), 'hex'))) WHERE "owner_is_large";
CREATE INDEX "vault_status_net" ON "vault" ("status", "net_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_strategy_status_net" ON "vault" ("strategy_id", "status", "net_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_owner_status_net" ON "vault" ("owner", "strategy_id", "status", "net_usd", (decode(substr("address", 3), 'hex'))) WHERE "owner_is_large";
CREATE INDEX "vault_status_strategy_delta" ON "vault" ("status", "strategy_delta_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_strategy_status_strategy_delta" ON "vault" ("strategy_id", "status", "strategy_delta_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_owner_status_strategy_delta" ON "vault" ("owner", "strategy_id", "status", "strategy_delta_usd", (decode(substr("address", 3), 'hex'))) WHERE "owner_is_large";
CREATE INDEX "vault_status_capital_in" ON "vault" ("status", "capital_in_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_strategy_status_capital_in" ON "vault" ("strategy_id", "status", "capital_in_usd", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_owner_status_capital_in" ON "vault" ("owner", "strategy_id", "status", "capital_in_usd", (decode(substr("address", 3), 'hex'))) WHERE "owner_is_large";
CREATE INDEX "vault_status_updated_at" ON "vault" ("status", "updated_at", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_strategy_status_updated_at" ON "vault" ("strategy_id", "status", "updated_at", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_owner_status_updated_at" ON "vault" ("owner", "strategy_id", "status", "updated_at", (decode(substr("address", 3), 'hex'))) WHERE "owner_is_large";
CREATE INDEX "vault_status_address" ON "vault" ("status", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_strategy_status_address" ON "vault" ("strategy_id", "status", (decode(substr("address", 3), 'hex')));
CREATE INDEX "vault_owner_status_address" ON "vault" ("owner", "strategy_id", "status", (decode(substr("address", 3), 'hex'))) WHERE "owner_is_large";
