-- CreateTable
CREATE TABLE "ledger_span" (
    "last_ts" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "level" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,

    CONSTRAINT "ledger_span_pkey" PRIMARY KEY ("vault_id","level","ordinal")
);

-- CreateTable
CREATE TABLE "ledger_span_page" (
    "first_key" BIGINT NOT NULL,
    "vault_id" INTEGER NOT NULL,
    "level" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "list" TEXT NOT NULL,
    "keys" BIGINT[],

    CONSTRAINT "ledger_span_page_pkey" PRIMARY KEY ("vault_id","level","ordinal","list","first_key")
);

-- CreateIndex
CREATE UNIQUE INDEX "ledger_span_vault_id_level_last_ts_key" ON "ledger_span"("vault_id", "level", "last_ts");

-- AddForeignKey
ALTER TABLE "ledger_span" ADD CONSTRAINT "ledger_span_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_span_page" ADD CONSTRAINT "ledger_span_page_vault_id_fkey" FOREIGN KEY ("vault_id") REFERENCES "vault"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- Beyond what schema.prisma can say: places are not negative, and a page has keys

ALTER TABLE "ledger_span" ADD CONSTRAINT "ledger_span_place" CHECK ("level" BETWEEN 1 AND 3 AND "ordinal" >= 0 AND "last_ts" >= 0);
ALTER TABLE "ledger_span_page" ADD CONSTRAINT "ledger_span_page_place" CHECK ("level" BETWEEN 1 AND 3 AND "ordinal" >= 0 AND "first_key" >= 0);
ALTER TABLE "ledger_span_page" ADD CONSTRAINT "ledger_span_page_keys" CHECK (
  coalesce(cardinality("keys"), 0) BETWEEN 1 AND 128 AND "keys"[1] = "first_key" AND array_position("keys", NULL) IS NULL);


-- The ledgers that are not in order already: a span ends with a tally at which another 512 rows are complete, before the newest
-- second. There are few such ledgers, and those in order have no spans

INSERT INTO "ledger_span" ("last_ts", "vault_id", "level", "ordinal")
  SELECT "ts", "vault_id", 1, row_number() OVER (PARTITION BY "vault_id" ORDER BY "ts") - 1
  FROM (
    SELECT "vault_id", "ts", "count", lag("count", 1, 0) OVER "upto" AS "count_before", lead("ts") OVER "upto" IS NULL AS "is_newest"
    FROM (
      SELECT "vault_id", "ts",
        "deposit" + "withdraw" + "plant" + "rebalance" + "harvest" + "exit" + "fee" + "suspend" + "resume" AS "count"
      FROM "ledger_tally" WHERE "vault_id" IN (SELECT "id" FROM "vault" WHERE NOT "ledger_in_order")) "tally"
    WINDOW "upto" AS (PARTITION BY "vault_id" ORDER BY "ts")) "ended"
  WHERE NOT "is_newest" AND "count" / 512 > "count_before" / 512;
INSERT INTO "ledger_span" ("last_ts", "vault_id", "level", "ordinal")
  SELECT "last_ts", "vault_id", 2, "ordinal" / 16 FROM "ledger_span" WHERE "level" = 1 AND "ordinal" % 16 = 15;
INSERT INTO "ledger_span" ("last_ts", "vault_id", "level", "ordinal")
  SELECT "last_ts", "vault_id", 3, "ordinal" / 16 FROM "ledger_span" WHERE "level" = 2 AND "ordinal" % 16 = 15;
INSERT INTO "ledger_span_page" ("first_key", "vault_id", "level", "ordinal", "list", "keys")
  SELECT "keys"[1], "vault_id", "level", "ordinal", "list", "keys"
  FROM (SELECT *, lag("last_ts", 1, -1) OVER (PARTITION BY "vault_id", "level" ORDER BY "ordinal") AS "after_ts" FROM "ledger_span") "span"
    CROSS JOIN LATERAL (
      SELECT "list", array_agg("key" ORDER BY "key") AS "keys"
      FROM (
        SELECT "list", "key", (row_number() OVER (PARTITION BY "list" ORDER BY "key") - 1) / 128 AS "number"
        FROM (
          SELECT DISTINCT "list", "key"
          FROM (
              SELECT "type"::text COLLATE "C" AS "type", least("block", 4398046511103) * 2097152 + least("log_index", 2097151) AS "key"
              FROM "ledger_row"
              WHERE "vault_id" = "span"."vault_id" AND "ts" > "after_ts" AND "ts" <= "last_ts" AND "block" < 4398046511103) "row"
            CROSS JOIN LATERAL (VALUES ('all' COLLATE "C"), ("type")) AS "lists" ("list")) "found") "numbered"
      GROUP BY "list", "number") "page";
