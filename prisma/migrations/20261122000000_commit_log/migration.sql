-- AlterTable
ALTER TABLE "feed" ADD COLUMN     "block_hash" TEXT,
ADD COLUMN     "block_number" BIGINT,
ADD COLUMN     "block_timestamp" BIGINT,
ADD COLUMN     "newest_fact_at" BIGINT,
ADD COLUMN     "read_until" BIGINT;

-- CreateTable
CREATE TABLE "data_head" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "seq" BIGINT NOT NULL,
    "version" TEXT NOT NULL,
    "newest_ts" BIGINT,

    CONSTRAINT "data_head_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "commit_log" (
    "seq" BIGINT NOT NULL,
    "version" TEXT NOT NULL,
    "at" BIGINT NOT NULL,
    "newest_ts" BIGINT,
    "sources" TEXT[],

    CONSTRAINT "commit_log_pkey" PRIMARY KEY ("seq")
);

-- CreateIndex
CREATE INDEX "commit_log_at_idx" ON "commit_log"("at");


-- Beyond what schema.prisma can say

-- One row
ALTER TABLE "data_head" ADD CONSTRAINT "data_head_single" CHECK ("id");
ALTER TABLE "data_head" ADD CONSTRAINT "data_head_version" CHECK ("version" LIKE "seq" || '.%');
ALTER TABLE "commit_log" ADD CONSTRAINT "commit_log_version" CHECK ("version" LIKE "seq" || '.%');
ALTER TABLE "commit_log" ADD CONSTRAINT "commit_log_times" CHECK ("at" >= 0 AND "newest_ts" >= 0);
ALTER TABLE "commit_log" ADD CONSTRAINT "commit_log_sources" CHECK ("sources" IS NOT NULL AND array_position("sources", NULL) IS NULL);
ALTER TABLE "feed" ADD CONSTRAINT "feed_times" CHECK ("newest_fact_at" >= 0 AND "read_until" >= 0);
ALTER TABLE "feed" ADD CONSTRAINT "feed_block"
  CHECK (num_nulls("block_number", "block_hash", "block_timestamp") IN (0, 3) AND "block_number" >= 0 AND "block_timestamp" >= 0);
-- The row is updated by each batch: room in its page keeps the updates out of the index
ALTER TABLE "data_head" SET (fillfactor = 10);

-- A database that has facts has a version from now on. The mark is 63 random bits.
WITH "newest" AS (
  SELECT greatest(
    (SELECT max("updated_at") FROM "vault"), (SELECT max("published_at") FROM "strategy"), (SELECT max("ts") FROM "screen")
  ) AS "ts"
), "head" AS (
  INSERT INTO "data_head" ("seq", "version", "newest_ts")
  SELECT 1, '1.' || (('x' || right(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint & 9223372036854775807), "ts"
  FROM "newest" WHERE "ts" IS NOT NULL
  RETURNING "seq", "version", "newest_ts"
)
INSERT INTO "commit_log" ("seq", "version", "at", "newest_ts", "sources")
SELECT "seq", "version", extract(epoch FROM clock_timestamp())::bigint, "newest_ts", '{}' FROM "head";
