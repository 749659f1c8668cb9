-- State of vaults at any second, and the market's part of the gain at each point. It is kept from now on: what is stored
-- already has none of it.

-- AlterTable
ALTER TABLE "vault" ADD COLUMN     "history_since" BIGINT,
ADD COLUMN     "marked_at" BIGINT,
ADD COLUMN     "changed_at" BIGINT,
ADD COLUMN     "layout_digest" BYTEA;

-- AlterTable
ALTER TABLE "equity_point" ADD COLUMN     "market_delta_usd" DECIMAL(38,6),
ADD COLUMN     "state" BYTEA;

-- CreateTable
CREATE TABLE "position_layout" (
    "ts" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "positions" TEXT NOT NULL,

    CONSTRAINT "position_layout_pkey" PRIMARY KEY ("vault_id","ts")
);

-- CreateTable
CREATE TABLE "vault_change" (
    "ts" BIGINT NOT NULL,
    "suspended_at" BIGINT,
    "vault_id" INTEGER NOT NULL,
    "phase" "vault_phase",
    "suspension_reason" TEXT,
    "fees_taxed_usd" DECIMAL(38,6) NOT NULL,
    "fees_contributed_usd" DECIMAL(38,6),
    "fees_withdrawn_usd" DECIMAL(38,6),
    "fees_high_water_usd" DECIMAL(38,6),

    CONSTRAINT "vault_change_pkey" PRIMARY KEY ("vault_id","ts")
);

-- CreateTable
CREATE TABLE "equity_curve_page" (
    "vault_id" INTEGER NOT NULL,
    "level" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "candidates" TEXT NOT NULL,

    CONSTRAINT "equity_curve_page_pkey" PRIMARY KEY ("vault_id","level","ordinal")
);

-- CreateTable
CREATE TABLE "strategy_day" (
    "strategy_id" TEXT NOT NULL,
    "day" INTEGER NOT NULL,
    "change_usd" DECIMAL(40,6) NOT NULL,
    "gain_usd" DECIMAL(140,46) NOT NULL,

    CONSTRAINT "strategy_day_pkey" PRIMARY KEY ("strategy_id","day")
);

-- AddForeignKey
ALTER TABLE "strategy_day" ADD CONSTRAINT "strategy_day_strategy_id_fkey" FOREIGN KEY ("strategy_id") REFERENCES "strategy"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "position_layout" ADD CONSTRAINT "position_layout_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "vault_change" ADD CONSTRAINT "vault_change_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "equity_curve_page" ADD CONSTRAINT "equity_curve_page_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What follows keeps wrong states out, and is beyond what schema.prisma can say.

-- They are known together
ALTER TABLE "equity_point" ADD CONSTRAINT "equity_point_history" CHECK (
  ("market_delta_usd" IS NULL) = ("state" IS NULL) AND coalesce(length("state") > 0 AND abs("market_delta_usd") < 1e32, true));
ALTER TABLE "vault" ADD CONSTRAINT "vault_traced" CHECK (
  coalesce("history_since" >= 0 AND "history_since" <= "updated_at", true) AND coalesce("marked_at" <= "equity_at", true)
  AND coalesce("changed_at" <= "updated_at", true) AND coalesce(length("layout_digest") = 8, true)
  AND ("layout_digest" IS NULL OR "marked_at" IS NOT NULL) AND ("marked_at" IS NULL OR "history_since" IS NOT NULL));
ALTER TABLE "position_layout" ADD CONSTRAINT "position_layout_form" CHECK ("ts" >= 0 AND "positions" LIKE '[%]');
ALTER TABLE "vault_change" ADD CONSTRAINT "vault_change_times" CHECK ("ts" >= 0 AND coalesce("suspended_at" BETWEEN 0 AND "ts", true));
ALTER TABLE "vault_change" ADD CONSTRAINT "vault_change_suspension_whole" CHECK (("suspension_reason" IS NULL) = ("suspended_at" IS NULL));
ALTER TABLE "vault_change" ADD CONSTRAINT "vault_change_fees" CHECK (
  "fees_taxed_usd" BETWEEN 0 AND 1e32 AND coalesce("fees_contributed_usd" BETWEEN 0 AND 1e32, true)
  AND coalesce("fees_withdrawn_usd" BETWEEN 0 AND 1e32, true) AND coalesce("fees_high_water_usd" BETWEEN 0 AND 1e32, true)
  AND num_nulls("fees_contributed_usd", "fees_withdrawn_usd") IN (0, 2)
  AND ("fees_contributed_usd" IS NULL OR "fees_high_water_usd" IS NOT NULL));
ALTER TABLE "equity_curve_page" ADD CONSTRAINT "equity_curve_page_place" CHECK ("level" BETWEEN 2 AND 13 AND "ordinal" >= 0);
-- They are read seldom, and compressed to half
ALTER TABLE "equity_curve_page" ALTER COLUMN "candidates" SET STORAGE MAIN;
ALTER TABLE "equity_curve_page" SET (toast_tuple_target = 256);

ALTER TABLE "strategy_day" ADD CONSTRAINT "strategy_day_times" CHECK ("day" >= -1);

-- The days of vaults have always been kept
INSERT INTO "strategy_day" ("strategy_id", "day", "change_usd", "gain_usd")
  SELECT "strategy_id", "day", sum("end_usd" - "start_usd"), sum("start_usd" * ("growth" - 1))
  FROM "vault_day" JOIN "vault" ON "id" = "vault_id" GROUP BY "strategy_id", "day";

-- A line of a page was: time, net of flows, value, capital in, capital out. Value follows from the others, and its place goes
-- to the market's part, which is not known. The table is written anew, so that it does not grow.
ALTER TABLE "equity_page" ALTER COLUMN "candidates" TYPE TEXT
  USING regexp_replace("candidates", '^(\d+ \S+) \S+ (\S+ \S+)$', '\1 \2 ', 'gn');
