-- What keeps wrong states out, and is beyond what schema.prisma can say.

-- An asset that was withdrawn whole is still one that the deposits have brought in
ALTER TABLE "benchmark_holding" DROP CONSTRAINT "benchmark_holding_amounts";
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_amounts" CHECK ("quantity" >= 0 AND "quantity" < 1e40);

-- Both figures or none, but for a month in which all was lost: that has no sigma. Nothing can lose more than all
ALTER TABLE "strategy" DROP CONSTRAINT "strategy_figures";
ALTER TABLE "strategy" ADD CONSTRAINT "strategy_figures" CHECK (
  coalesce("live_apr" >= -365::float8 / 30 AND "live_apr" < 'Infinity', true)
  AND coalesce("sigma" >= 0 AND "sigma" < 'Infinity', true)
  AND CASE WHEN "sigma" IS NULL THEN coalesce("live_apr" = -365::float8 / 30, true) ELSE "live_apr" IS NOT NULL END);

-- Lists of venues are there, and whole
ALTER TABLE "universe_asset" ADD CONSTRAINT "universe_asset_venues" CHECK ("venues" IS NOT NULL AND array_position("venues", NULL) IS NULL);
ALTER TABLE "universe_pair" ADD CONSTRAINT "universe_pair_venues" CHECK ("venues" IS NOT NULL AND array_position("venues", NULL) IS NULL);
ALTER TABLE "strategy_pair" ADD CONSTRAINT "strategy_pair_venues" CHECK ("venues" IS NOT NULL AND array_position("venues", NULL) IS NULL);

-- Times: the first second of all ends the day before the first
ALTER TABLE "strategy" ADD CONSTRAINT "strategy_times" CHECK ("published_at" >= 0 AND coalesce("figures_day" >= -1, true));
ALTER TABLE "strategy_revision" ADD CONSTRAINT "strategy_revision_times" CHECK ("ts" >= 0);
ALTER TABLE "screen" ADD CONSTRAINT "screen_times" CHECK ("ts" >= 0);
ALTER TABLE "vault_day" ADD CONSTRAINT "vault_day_times" CHECK ("day" >= -1);

-- Places in an order, and in a feed
ALTER TABLE "strategy" ADD CONSTRAINT "strategy_place" CHECK ("ordinal" >= 0);
ALTER TABLE "strategy_pair" ADD CONSTRAINT "strategy_pair_place" CHECK ("ordinal" >= 0);
ALTER TABLE "universe_asset" ADD CONSTRAINT "universe_asset_place" CHECK ("ordinal" >= 0);
ALTER TABLE "universe_pair" ADD CONSTRAINT "universe_pair_place" CHECK ("ordinal" >= 0);
ALTER TABLE "position" ADD CONSTRAINT "position_place" CHECK ("ordinal" >= 0);
ALTER TABLE "feed" ADD CONSTRAINT "feed_place" CHECK ("line" >= 0 AND "byte" >= 0);
