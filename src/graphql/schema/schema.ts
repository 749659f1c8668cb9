import './scalars.ts'
import './vault.ts'
import './equity.ts'
import './ledger.ts'
import './strategy.ts'
import './vault-state/performance.ts'
import './vault-lists/vaults.ts'
import './universe.ts'
import './meta.ts'
import './node/node-queries.ts'
import './subscription/subscriptions.ts'
import { builder } from './builder.ts'

/** The gateway's schema. */
export const schema = builder.toSchema({ sortSchema: true })
