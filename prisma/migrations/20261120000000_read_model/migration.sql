-- CreateEnum
CREATE TYPE "vault_status" AS ENUM ('idle', 'planting', 'earning', 'attention', 'exiting', 'suspended');

-- CreateEnum
CREATE TYPE "vault_phase" AS ENUM ('planting', 'exiting');

-- CreateEnum
CREATE TYPE "event_type" AS ENUM ('deposit', 'withdraw', 'plant', 'rebalance', 'harvest', 'exit', 'fee', 'suspend', 'resume');

-- CreateEnum
CREATE TYPE "asset_category" AS ENUM ('major', 'stable', 'stock token', 'meme');

-- CreateTable
CREATE TABLE "strategy" (
    "id" TEXT NOT NULL,
    "ordinal" SERIAL NOT NULL,
    "published_at" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "tagline" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "live_apr" DOUBLE PRECISION,
    "sigma" DOUBLE PRECISION,
    "figures_day" INTEGER,

    CONSTRAINT "strategy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "strategy_revision" (
    "strategy_id" TEXT NOT NULL,
    "ts" BIGINT NOT NULL,
    "digest" TEXT NOT NULL,

    CONSTRAINT "strategy_revision_pkey" PRIMARY KEY ("strategy_id","ts")
);

-- CreateTable
CREATE TABLE "strategy_pair" (
    "strategy_id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "a" TEXT NOT NULL,
    "b" TEXT NOT NULL,
    "venues" TEXT[],

    CONSTRAINT "strategy_pair_pkey" PRIMARY KEY ("strategy_id","ordinal")
);

-- CreateTable
CREATE TABLE "screen" (
    "ts" BIGINT NOT NULL,
    "digest" TEXT NOT NULL,

    CONSTRAINT "screen_pkey" PRIMARY KEY ("ts")
);

-- CreateTable
CREATE TABLE "universe_asset" (
    "ordinal" INTEGER NOT NULL,
    "symbol" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "category" "asset_category" NOT NULL,
    "venues" TEXT[],
    "liquidity_usd" DECIMAL(38,6) NOT NULL,

    CONSTRAINT "universe_asset_pkey" PRIMARY KEY ("ordinal")
);

-- CreateTable
CREATE TABLE "universe_pair" (
    "ordinal" INTEGER NOT NULL,
    "a" TEXT NOT NULL,
    "b" TEXT NOT NULL,
    "venues" TEXT[],
    "tvl_usd" DECIMAL(38,6) NOT NULL,
    "emissions" BOOLEAN NOT NULL,

    CONSTRAINT "universe_pair_pkey" PRIMARY KEY ("ordinal")
);

-- CreateTable
CREATE TABLE "vault" (
    "address" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "strategy_id" TEXT NOT NULL,
    "opened_at" BIGINT NOT NULL,
    "digest" TEXT NOT NULL,
    "status" "vault_status" NOT NULL,
    "phase" "vault_phase",
    "value_usd" DECIMAL(38,6) NOT NULL,
    "capital_in_usd" DECIMAL(38,6) NOT NULL,
    "capital_out_usd" DECIMAL(38,6) NOT NULL,
    "net_usd" DECIMAL(38,6) NOT NULL,
    "strategy_delta_usd" DECIMAL(38,6) NOT NULL,
    "market_delta_usd" DECIMAL(38,6) NOT NULL,
    "benchmark_paid_out_usd" DECIMAL(80,40) NOT NULL,
    "position_count" INTEGER NOT NULL,
    "out_of_range_count" INTEGER NOT NULL,
    "fees_contributed_usd" DECIMAL(38,6) NOT NULL,
    "fees_withdrawn_usd" DECIMAL(38,6) NOT NULL,
    "fees_taxed_usd" DECIMAL(38,6) NOT NULL,
    "fees_high_water_usd" DECIMAL(38,6) NOT NULL,
    "suspension_reason" TEXT,
    "suspended_at" BIGINT,
    "equity_at" BIGINT,
    "updated_at" BIGINT NOT NULL,

    CONSTRAINT "vault_pkey" PRIMARY KEY ("address")
);

-- CreateTable
CREATE TABLE "benchmark_holding" (
    "vault_address" TEXT NOT NULL,
    "symbol" TEXT NOT NULL,
    "quantity" DECIMAL(80,40) NOT NULL,

    CONSTRAINT "benchmark_holding_pkey" PRIMARY KEY ("vault_address","symbol")
);

-- CreateTable
CREATE TABLE "position" (
    "vault_address" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "a" TEXT NOT NULL,
    "b" TEXT NOT NULL,
    "venue" TEXT NOT NULL,
    "fee_tier" INTEGER NOT NULL,
    "price_lower" DECIMAL(78,18) NOT NULL,
    "price_upper" DECIMAL(78,18) NOT NULL,
    "price_current" DECIMAL(78,18) NOT NULL,
    "tick_lower" INTEGER,
    "tick_upper" INTEGER,
    "tick_current" INTEGER,
    "in_range" BOOLEAN NOT NULL,
    "pending_rewards_usd" DECIMAL(38,6) NOT NULL,

    CONSTRAINT "position_pkey" PRIMARY KEY ("vault_address","id")
);

-- CreateTable
CREATE TABLE "equity_point" (
    "vault_address" TEXT NOT NULL,
    "ts" BIGINT NOT NULL,
    "value_usd" DECIMAL(38,6) NOT NULL,
    "capital_in_usd" DECIMAL(38,6) NOT NULL,
    "capital_out_usd" DECIMAL(38,6) NOT NULL,
    "net_usd" DECIMAL(38,6) NOT NULL,
    "mark_digest" TEXT,

    CONSTRAINT "equity_point_pkey" PRIMARY KEY ("vault_address","ts")
);

-- CreateTable
CREATE TABLE "vault_day" (
    "vault_address" TEXT NOT NULL,
    "day" INTEGER NOT NULL,
    "start_usd" DECIMAL(38,6) NOT NULL,
    "end_usd" DECIMAL(38,6) NOT NULL,
    "growth" DECIMAL(80,40) NOT NULL,

    CONSTRAINT "vault_day_pkey" PRIMARY KEY ("vault_address","day")
);

-- CreateTable
CREATE TABLE "ledger_row" (
    "vault_address" TEXT NOT NULL,
    "tx_hash" TEXT NOT NULL,
    "log_index" INTEGER NOT NULL,
    "block" BIGINT NOT NULL,
    "ts" BIGINT NOT NULL,
    "type" "event_type" NOT NULL,
    "amount_usd" DECIMAL(38,6),
    "position_id" TEXT,
    "reason" TEXT,
    "digest" TEXT NOT NULL,

    CONSTRAINT "ledger_row_pkey" PRIMARY KEY ("vault_address","tx_hash","log_index")
);

-- CreateTable
CREATE TABLE "feed" (
    "name" TEXT NOT NULL,
    "line" BIGINT NOT NULL,
    "byte" BIGINT NOT NULL,
    "fingerprint" TEXT NOT NULL,

    CONSTRAINT "feed_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "strategy_ordinal_key" ON "strategy"("ordinal");

-- CreateIndex
CREATE UNIQUE INDEX "universe_asset_symbol_key" ON "universe_asset"("symbol");

-- CreateIndex
CREATE INDEX "vault_strategy_id_idx" ON "vault"("strategy_id");

-- CreateIndex
CREATE INDEX "vault_owner_idx" ON "vault"("owner");

-- CreateIndex
CREATE INDEX "vault_value_usd_address_idx" ON "vault"("value_usd", "address");

-- CreateIndex
CREATE UNIQUE INDEX "position_vault_address_ordinal_key" ON "position"("vault_address", "ordinal");

-- CreateIndex
CREATE INDEX "ledger_row_vault_address_block_log_index_tx_hash_idx" ON "ledger_row"("vault_address", "block", "log_index", "tx_hash");

-- CreateIndex
CREATE INDEX "ledger_row_vault_address_type_block_log_index_tx_hash_idx" ON "ledger_row"("vault_address", "type", "block", "log_index", "tx_hash");

-- AddForeignKey
ALTER TABLE "strategy_revision" ADD CONSTRAINT "strategy_revision_strategy_id_fkey" FOREIGN KEY ("strategy_id") REFERENCES "strategy"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "strategy_pair" ADD CONSTRAINT "strategy_pair_strategy_id_fkey" FOREIGN KEY ("strategy_id") REFERENCES "strategy"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "vault" ADD CONSTRAINT "vault_strategy_id_fkey" FOREIGN KEY ("strategy_id") REFERENCES "strategy"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "position" ADD CONSTRAINT "position_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_vault_address_fkey" FOREIGN KEY ("vault_address") REFERENCES "vault"("address") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What follows keeps wrong states out, and is beyond what schema.prisma can say.

-- Identities are written in one way only
ALTER TABLE "vault" ADD CONSTRAINT "vault_address_form" CHECK ("address" ~ '^0x[0-9a-fA-F]{40}$' AND "owner" ~ '^0x[0-9a-fA-F]{40}$');
CREATE UNIQUE INDEX "vault_address_in_any_case" ON "vault" (lower("address"));
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_tx_hash_form" CHECK ("tx_hash" ~ '^0x[0-9a-f]{64}$' AND "log_index" >= 0 AND "block" >= 0);

-- Amounts: the upper bound keeps NaN out, which is greater than any number
ALTER TABLE "vault" ADD CONSTRAINT "vault_amounts" CHECK (
  "value_usd" BETWEEN 0 AND 1e32 AND "capital_in_usd" BETWEEN 0 AND 1e32 AND "capital_out_usd" BETWEEN 0 AND 1e32
  AND "benchmark_paid_out_usd" BETWEEN 0 AND 1e40
  AND "fees_contributed_usd" BETWEEN 0 AND 1e32 AND "fees_withdrawn_usd" BETWEEN 0 AND 1e32
  AND "fees_taxed_usd" BETWEEN 0 AND 1e32 AND "fees_high_water_usd" BETWEEN 0 AND 1e32);
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_amounts" CHECK (
  "value_usd" BETWEEN 0 AND 1e32 AND "capital_in_usd" BETWEEN 0 AND 1e32 AND "capital_out_usd" BETWEEN 0 AND 1e32);
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_amounts" CHECK (
  "start_usd" BETWEEN 0 AND 1e32 AND "end_usd" BETWEEN 0 AND 1e32 AND "growth" BETWEEN 0 AND 1e40);
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_amounts" CHECK ("quantity" > 0 AND "quantity" < 1e40);
ALTER TABLE "position" ADD CONSTRAINT "position_amounts" CHECK (
  "pending_rewards_usd" BETWEEN 0 AND 1e32 AND "price_lower" >= 0 AND "price_upper" BETWEEN "price_lower" AND 1e60
  AND "price_current" BETWEEN 0 AND 1e60 AND "fee_tier" BETWEEN 0 AND 1000000);
ALTER TABLE "universe_asset" ADD CONSTRAINT "universe_asset_amounts" CHECK ("liquidity_usd" BETWEEN 0 AND 1e32);
ALTER TABLE "universe_pair" ADD CONSTRAINT "universe_pair_amounts" CHECK ("tvl_usd" BETWEEN 0 AND 1e32);
ALTER TABLE "strategy" ADD CONSTRAINT "strategy_figures" CHECK (
  "live_apr" > '-Infinity' AND "live_apr" < 'Infinity' AND "sigma" >= 0 AND "sigma" < 'Infinity');

-- Times
ALTER TABLE "vault" ADD CONSTRAINT "vault_times" CHECK (
  "opened_at" >= 0 AND "updated_at" >= "opened_at" AND "equity_at" BETWEEN "opened_at" AND "updated_at"
  AND "suspended_at" BETWEEN "opened_at" AND "updated_at");
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_times" CHECK ("ts" >= 0);
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_times" CHECK ("ts" >= 0);

-- Net of flows
ALTER TABLE "vault" ADD CONSTRAINT "vault_net" CHECK ("net_usd" = "value_usd" + "capital_out_usd" - "capital_in_usd");
ALTER TABLE "vault" ADD CONSTRAINT "vault_split" CHECK ("strategy_delta_usd" + "market_delta_usd" = "net_usd");
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_net" CHECK ("net_usd" = "value_usd" + "capital_out_usd" - "capital_in_usd");

-- Status: the first that applies
ALTER TABLE "vault" ADD CONSTRAINT "vault_status_derived" CHECK ("status" = CASE
  WHEN "suspended_at" IS NOT NULL THEN 'suspended'::"vault_status"
  WHEN "phase" = 'exiting' THEN 'exiting'
  WHEN "phase" = 'planting' THEN 'planting'
  WHEN "value_usd" = 0 AND "position_count" = 0 THEN 'idle'
  WHEN "position_count" = 0 THEN 'planting'
  WHEN "out_of_range_count" > 0 THEN 'attention'
  ELSE 'earning' END);
ALTER TABLE "vault" ADD CONSTRAINT "vault_exit_ends_empty" CHECK (NOT (coalesce("phase" = 'exiting', false) AND "value_usd" = 0 AND "position_count" = 0));
ALTER TABLE "vault" ADD CONSTRAINT "vault_suspension_whole" CHECK (("suspension_reason" IS NULL) = ("suspended_at" IS NULL));
ALTER TABLE "vault" ADD CONSTRAINT "vault_position_counts" CHECK ("out_of_range_count" >= 0 AND "out_of_range_count" <= "position_count");

-- In range: lower <= current < upper, on the ticks where they are given
ALTER TABLE "position" ADD CONSTRAINT "position_ticks_whole" CHECK (
  num_nulls("tick_lower", "tick_upper", "tick_current") IN (0, 3) AND coalesce("tick_lower" <= "tick_upper", true));
ALTER TABLE "position" ADD CONSTRAINT "position_in_range_derived" CHECK ("in_range" = CASE
  WHEN "tick_current" IS NOT NULL THEN "tick_lower" <= "tick_current" AND "tick_current" < "tick_upper"
  ELSE "price_lower" <= "price_current" AND "price_current" < "price_upper" END);

-- A ledger row has what its type has
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_by_type" CHECK (
  CASE "type" WHEN 'deposit' THEN "amount_usd" IS NOT NULL WHEN 'withdraw' THEN "amount_usd" IS NOT NULL WHEN 'fee' THEN "amount_usd" IS NOT NULL
    WHEN 'rebalance' THEN true WHEN 'harvest' THEN true ELSE "amount_usd" IS NULL END
  AND ("position_id" IS NOT NULL) = ("type" IN ('plant', 'rebalance', 'harvest', 'exit'))
  AND ("reason" IS NOT NULL) = ("type" = 'suspend')
  AND coalesce("amount_usd" >= 0, true));
