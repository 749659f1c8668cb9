-- Rows of a vault refer to it by a number in place of its address, and hashes and digests are bytes in place of digits. Each
-- table is copied, since its columns are also in an order that wastes no bytes on alignment.

-- AlterTable
ALTER TABLE "strategy_revision" ALTER COLUMN "digest" TYPE BYTEA USING substr(decode(rpad(translate("digest", '-_', '+/'), 24, '='), 'base64'), 1, 8);
ALTER TABLE "screen" ALTER COLUMN "digest" TYPE BYTEA USING substr(decode(rpad(translate("digest", '-_', '+/'), 24, '='), 'base64'), 1, 8);
ALTER TABLE "vault" ADD COLUMN "id" SERIAL NOT NULL,
  ALTER COLUMN "digest" TYPE BYTEA USING substr(decode(rpad(translate("digest", '-_', '+/'), 24, '='), 'base64'), 1, 8);

-- CreateTable
CREATE TABLE "new_vault_owner" (
    "ts" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "owner" TEXT NOT NULL,
    "digest" BYTEA
);
CREATE TABLE "new_benchmark_holding" (
    "vault_id" INTEGER NOT NULL,
    "symbol" TEXT NOT NULL,
    "quantity" DECIMAL(80,40) NOT NULL
);
CREATE TABLE "new_position" (
    "vault_id" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "fee_tier" INTEGER NOT NULL,
    "tick_lower" INTEGER,
    "tick_upper" INTEGER,
    "tick_current" INTEGER,
    "in_range" BOOLEAN NOT NULL,
    "id" TEXT NOT NULL,
    "a" TEXT NOT NULL,
    "b" TEXT NOT NULL,
    "venue" TEXT NOT NULL,
    "price_lower" DECIMAL(78,18) NOT NULL,
    "price_upper" DECIMAL(78,18) NOT NULL,
    "price_current" DECIMAL(78,18) NOT NULL,
    "pending_rewards_usd" DECIMAL(38,6) NOT NULL
);
CREATE TABLE "new_equity_point" (
    "ts" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "value_usd" DECIMAL(38,6) NOT NULL,
    "capital_in_usd" DECIMAL(38,6) NOT NULL,
    "capital_out_usd" DECIMAL(38,6) NOT NULL,
    "mark_digest" BYTEA
);
CREATE TABLE "new_equity_page" (
    "first_ts" BIGINT NOT NULL,
    "last_ts" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "level" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "candidates" TEXT NOT NULL
);
CREATE TABLE "new_vault_day" (
    "vault_id" INTEGER NOT NULL,
    "day" INTEGER NOT NULL,
    "start_usd" DECIMAL(38,6) NOT NULL,
    "end_usd" DECIMAL(38,6) NOT NULL,
    "growth" DECIMAL(80,40) NOT NULL
);
CREATE TABLE "new_ledger_row" (
    "ts" BIGINT NOT NULL,
    "block" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "log_index" INTEGER NOT NULL,
    "type" "event_type" NOT NULL,
    "tx_hash" BYTEA NOT NULL,
    "amount_usd" DECIMAL(38,6),
    "position_id" TEXT,
    "reason" TEXT,
    "digest" BYTEA NOT NULL
);
CREATE TABLE "new_ledger_tally" (
    "ts" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "deposit" INTEGER NOT NULL,
    "withdraw" INTEGER NOT NULL,
    "plant" INTEGER NOT NULL,
    "rebalance" INTEGER NOT NULL,
    "harvest" INTEGER NOT NULL,
    "exit" INTEGER NOT NULL,
    "fee" INTEGER NOT NULL,
    "suspend" INTEGER NOT NULL,
    "resume" INTEGER NOT NULL
);
-- Packing would save little, and unpacking costs more than all else of a read
ALTER TABLE "new_equity_page" ALTER COLUMN "candidates" SET STORAGE EXTERNAL;


-- The rows that are stored already. A digest is the first 8 bytes of SHA-256, which were its first digits in Base64url

INSERT INTO "new_vault_owner" ("ts", "vault_id", "owner", "digest")
  SELECT "ts", "vault"."id", "vault_owner"."owner",
    substr(decode(rpad(translate("vault_owner"."digest", '-_', '+/'), 24, '='), 'base64'), 1, 8)
  FROM "vault_owner" JOIN "vault" ON "address" = "vault_address";
INSERT INTO "new_benchmark_holding" ("vault_id", "symbol", "quantity")
  SELECT "vault"."id", "symbol", "quantity" FROM "benchmark_holding" JOIN "vault" ON "address" = "vault_address";
INSERT INTO "new_position" ("vault_id", "ordinal", "fee_tier", "tick_lower", "tick_upper", "tick_current", "in_range", "id", "a", "b",
    "venue", "price_lower", "price_upper", "price_current", "pending_rewards_usd")
  SELECT "vault"."id", "ordinal", "fee_tier", "tick_lower", "tick_upper", "tick_current", "in_range", "position"."id", "a", "b",
    "venue", "price_lower", "price_upper", "price_current", "pending_rewards_usd"
  FROM "position" JOIN "vault" ON "address" = "vault_address";
INSERT INTO "new_equity_point" ("ts", "vault_id", "value_usd", "capital_in_usd", "capital_out_usd", "mark_digest")
  SELECT "ts", "vault"."id", "point"."value_usd", "point"."capital_in_usd", "point"."capital_out_usd",
    substr(decode(rpad(translate("mark_digest", '-_', '+/'), 24, '='), 'base64'), 1, 8)
  FROM "equity_point" "point" JOIN "vault" ON "address" = "vault_address";
INSERT INTO "new_vault_day" ("vault_id", "day", "start_usd", "end_usd", "growth")
  SELECT "vault"."id", "day", "start_usd", "end_usd", "growth" FROM "vault_day" JOIN "vault" ON "address" = "vault_address";
INSERT INTO "new_ledger_row" ("ts", "block", "vault_id", "log_index", "type", "tx_hash", "amount_usd", "position_id", "reason", "digest")
  SELECT "ts", "block", "vault"."id", "log_index", "type", decode(substr("tx_hash", 3), 'hex'), "amount_usd", "position_id", "reason",
    substr(decode(rpad(translate("ledger_row"."digest", '-_', '+/'), 24, '='), 'base64'), 1, 8)
  FROM "ledger_row" JOIN "vault" ON "address" = "vault_address";
INSERT INTO "new_ledger_tally" ("ts", "vault_id", "deposit", "withdraw", "plant", "rebalance", "harvest", "exit", "fee", "suspend", "resume")
  SELECT "ts", "vault"."id", "deposit", "withdraw", "plant", "rebalance", "harvest", "exit", "fee", "suspend", "resume"
  FROM "ledger_tally" JOIN "vault" ON "address" = "vault_address";

ALTER TABLE "new_equity_point" ADD CONSTRAINT "new_equity_point_pkey" PRIMARY KEY ("vault_id", "ts");

-- A page has 16 buckets. On the first level its last point is the 64th, on the others that of the last page of the first level in it
CREATE TEMPORARY TABLE "filled_page" ON COMMIT DROP AS
  SELECT "vault_address", "level", "ordinal" / 16 AS "ordinal", min("first_ts") AS "first_ts", string_agg(concat_ws(' ', "ts", trim_scale("net_usd"), trim_scale("value_usd"),
      trim_scale("capital_in_usd"), trim_scale("capital_out_usd")), E'\n' ORDER BY "ordinal", "ts") AS "candidates"
  FROM "equity_bucket" CROSS JOIN LATERAL (VALUES
      ("least_ts", "least_value_usd" + "least_capital_out_usd" - "least_capital_in_usd",
        "least_value_usd", "least_capital_in_usd", "least_capital_out_usd"),
      ("greatest_ts", "greatest_value_usd" + "greatest_capital_out_usd" - "greatest_capital_in_usd",
        "greatest_value_usd", "greatest_capital_in_usd", "greatest_capital_out_usd")
    ) AS "point"("ts", "net_usd", "value_usd", "capital_in_usd", "capital_out_usd")
  GROUP BY "vault_address", "level", "ordinal" / 16
  HAVING count(*) = 2 * 16;
INSERT INTO "new_equity_page" ("first_ts", "last_ts", "vault_id", "level", "ordinal", "candidates")
  SELECT "first_ts", "last_ts", "id", 1, "ordinal", "candidates" FROM "filled_page" JOIN "vault" ON "address" = "vault_address"
    CROSS JOIN LATERAL (SELECT "ts" AS "last_ts" FROM "new_equity_point"
      WHERE "vault_id" = "id" AND "ts" >= "first_ts" ORDER BY "ts" OFFSET 63 LIMIT 1) "last"
  WHERE "level" = 1;
ALTER TABLE "new_equity_page" ADD CONSTRAINT "new_equity_page_pkey" PRIMARY KEY ("vault_id","level","ordinal");
INSERT INTO "new_equity_page" ("first_ts", "last_ts", "vault_id", "level", "ordinal", "candidates")
  SELECT "filled_page"."first_ts", "finest"."last_ts", "id", "filled_page"."level", "filled_page"."ordinal", "filled_page"."candidates"
  FROM "filled_page" JOIN "vault" ON "address" = "vault_address"
    JOIN "new_equity_page" "finest" ON "vault_id" = "id" AND "finest"."level" = 1
      AND "finest"."ordinal" = (("filled_page"."ordinal" + 1) << 2 * ("filled_page"."level" - 1)) - 1
  WHERE "filled_page"."level" > 1;


-- DropTable
DROP TABLE "vault_owner", "benchmark_holding", "position", "equity_point", "equity_bucket", "equity_page", "vault_day", "ledger_row", "ledger_tally";
ALTER TABLE "new_vault_owner" RENAME TO "vault_owner";
ALTER TABLE "new_benchmark_holding" RENAME TO "benchmark_holding";
ALTER TABLE "new_position" RENAME TO "position";
ALTER TABLE "new_equity_point" RENAME TO "equity_point";
ALTER TABLE "new_equity_page" RENAME TO "equity_page";
ALTER TABLE "new_vault_day" RENAME TO "vault_day";
ALTER TABLE "new_ledger_row" RENAME TO "ledger_row";
ALTER TABLE "new_ledger_tally" RENAME TO "ledger_tally";

-- AlterTable
ALTER TABLE "vault" DROP CONSTRAINT "vault_pkey", ADD CONSTRAINT "vault_pkey" PRIMARY KEY ("id");
CREATE UNIQUE INDEX "vault_address_key" ON "vault"("address");
-- After the one above, which is to tell that an address is there already
DROP INDEX "vault_address_in_any_case";
CREATE UNIQUE INDEX "vault_address_in_any_case" ON "vault" ((lower("address") COLLATE "C"));
ALTER TABLE "vault_owner" ADD CONSTRAINT "vault_owner_pkey" PRIMARY KEY ("vault_id", "ts");
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_pkey" PRIMARY KEY ("vault_id", "symbol");
ALTER TABLE "position" ADD CONSTRAINT "position_pkey" PRIMARY KEY ("vault_id", "id");
ALTER TABLE "equity_point" RENAME CONSTRAINT "new_equity_point_pkey" TO "equity_point_pkey";
ALTER TABLE "equity_page" RENAME CONSTRAINT "new_equity_page_pkey" TO "equity_page_pkey";
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_pkey" PRIMARY KEY ("vault_id", "day");
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_pkey" PRIMARY KEY ("vault_id", "tx_hash", "log_index");
ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_pkey" PRIMARY KEY ("vault_id", "ts");

-- CreateIndex
CREATE UNIQUE INDEX "position_vault_id_ordinal_key" ON "position"("vault_id", "ordinal");
CREATE UNIQUE INDEX "equity_page_vault_id_level_last_ts_key" ON "equity_page"("vault_id", "level", "last_ts");
CREATE INDEX "ledger_row_vault_id_ts_idx" ON "ledger_row"("vault_id", "ts");
-- Without log indexes and hashes: a vault has few rows in one block, and those are sorted as they are read
CREATE INDEX "ledger_row_vault_id_block_idx" ON "ledger_row"("vault_id", "block");
CREATE INDEX "ledger_row_vault_id_type_block_idx" ON "ledger_row"("vault_id", "type", "block");

-- AddForeignKey
ALTER TABLE "vault_owner" ADD CONSTRAINT "vault_owner_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "position" ADD CONSTRAINT "position_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What follows keeps wrong states out, and is beyond what schema.prisma can say: the checks that the tables have had.

ALTER TABLE "vault_owner" ADD CONSTRAINT "vault_owner_form" CHECK ("owner" ~ '^0x[0-9a-fA-F]{40}$' AND "ts" >= 0);
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_amounts" CHECK ("quantity" >= 0 AND "quantity" < 1e40);
ALTER TABLE "position" ADD CONSTRAINT "position_place" CHECK ("ordinal" >= 0);
ALTER TABLE "position" ADD CONSTRAINT "position_amounts" CHECK (
  "pending_rewards_usd" BETWEEN 0 AND 1e32 AND "price_lower" >= 0 AND "price_upper" BETWEEN "price_lower" AND 1e60
  AND "price_current" BETWEEN 0 AND 1e60 AND "fee_tier" BETWEEN 0 AND 1000000);
ALTER TABLE "position" ADD CONSTRAINT "position_ticks_whole" CHECK (
  num_nulls("tick_lower", "tick_upper", "tick_current") IN (0, 3) AND coalesce("tick_lower" <= "tick_upper", true));
ALTER TABLE "position" ADD CONSTRAINT "position_in_range_derived" CHECK ("in_range" = CASE
  WHEN "tick_current" IS NOT NULL THEN "tick_lower" <= "tick_current" AND "tick_current" < "tick_upper"
  ELSE "price_lower" <= "price_current" AND "price_current" < "price_upper" END);
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_amounts" CHECK (
  "value_usd" BETWEEN 0 AND 1e32 AND "capital_in_usd" BETWEEN 0 AND 1e32 AND "capital_out_usd" BETWEEN 0 AND 1e32);
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_times" CHECK ("ts" >= 0);
ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_place" CHECK ("level" BETWEEN 1 AND 13 AND "ordinal" >= 0);
ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_times" CHECK ("first_ts" >= 0 AND "last_ts" > "first_ts");
-- Both ends of each bucket
ALTER TABLE "equity_page" ADD CONSTRAINT "equity_page_candidates" CHECK (
  length("candidates") - length(replace("candidates", E'\n', '')) = 2 * 16 - 1);
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_times" CHECK ("day" >= -1);
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_amounts" CHECK (
  "start_usd" BETWEEN 0 AND 1e32 AND "end_usd" BETWEEN 0 AND 1e32 AND "growth" BETWEEN 0 AND 1e40);
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_tx_hash_form" CHECK (length("tx_hash") = 32 AND "log_index" >= 0 AND "block" >= 0);
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_times" CHECK ("ts" >= 0);
ALTER TABLE "ledger_row" ADD CONSTRAINT "ledger_row_by_type" CHECK (
  CASE "type" WHEN 'deposit' THEN "amount_usd" IS NOT NULL WHEN 'withdraw' THEN "amount_usd" IS NOT NULL WHEN 'fee' THEN "amount_usd" IS NOT NULL
    WHEN 'rebalance' THEN true WHEN 'harvest' THEN true ELSE "amount_usd" IS NULL END
  AND ("position_id" IS NOT NULL) = ("type" IN ('plant', 'rebalance', 'harvest', 'exit'))
  AND ("reason" IS NOT NULL) = ("type" = 'suspend')
  AND coalesce("amount_usd" >= 0, true));
ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_counts" CHECK (
  "deposit" >= 0 AND "withdraw" >= 0 AND "plant" >= 0 AND "rebalance" >= 0 AND "harvest" >= 0
  AND "exit" >= 0 AND "fee" >= 0 AND "suspend" >= 0 AND "resume" >= 0
  AND "deposit" + "withdraw" + "plant" + "rebalance" + "harvest" + "exit" + "fee" + "suspend" + "resume" > 0);
ALTER TABLE "ledger_tally" ADD CONSTRAINT "ledger_tally_times" CHECK ("ts" >= 0);
