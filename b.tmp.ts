import { openPGlite } from './src/database/pglite.ts'
import { openPostgreSql } from './src/database/postgresql.ts'
import { migrate } from './src/database/migrations.ts'
import { ingest } from './src/feed/ingest.ts'
import { fileSource } from './src/feed/source.ts'
import { readFileSync } from 'node:fs'
const db = process.argv[2] ? await openPostgreSql(process.argv[2], 10) : await openPGlite()
await migrate(db)
for (let i=0;i<2;i++) {
const t=Date.now()
console.log(JSON.stringify(await ingest({database: db, source: await fileSource('../shared/feeds/polygon-weth-usdc.ndjson.gz')})), Date.now()-t)
}
const expected = JSON.parse(readFileSync('../shared/feeds/polygon-weth-usdc.expected.json','utf8'))
for (const v of await db.prisma.vault.findMany()) {
  const e = expected.vaults[v.address.toLowerCase()]
  for (const k of ['status','valueUsd','capitalInUsd','capitalOutUsd','netUsd','marketDeltaUsd','strategyDeltaUsd','updatedAt']) if (String((v as any)[k])!==String(e[k])) console.log('DIFF',v.address,k,String((v as any)[k]),e[k])
  const n = await db.prisma.equityPoint.count({where:{vaultAddress:v.address}}), l = await db.prisma.ledgerRow.count({where:{vaultAddress:v.address}})
  console.log(v.address, n===e.equityPoints, l===e.events)
}
for (const s of await db.prisma.strategy.findMany({orderBy:{ordinal:'asc'}})) { const e=expected.strategies[s.id]; console.log(s.id, s.liveApr, e.liveApr, s.sigma, e.sigma) }
await db.close()
