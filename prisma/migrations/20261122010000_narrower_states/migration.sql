-- What keeps wrong states out, and is beyond what schema.prisma can say.

-- An asset that was withdrawn whole is still one that the deposits have brought in
ALTER TABLE "benchmark_holding" DROP CONSTRAINT "benchmark_holding_amounts";
ALTER TABLE "benchmark_holding" ADD CONSTRAINT "benchmark_holding_amounts" CHECK ("quantity" >= 0 AND "quantity" < 1e40);
