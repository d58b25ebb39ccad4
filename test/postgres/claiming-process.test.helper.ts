/** Runs a replica in a separate process: 16 claims of one payment, and 16 of others that share a budget. */
import { PostgresSettlements } from '@latchkey/x402/postgres'
import { settlement } from '../support/settlementConformance.test.helper.js'

const store = await PostgresSettlements.open({
  address: process.env['CLAIM_ADDRESS'],
  environment: {},
  schema: process.env['CLAIM_SCHEMA'],
  maxConnections: 3,
})
const claims = Array.from({ length: 16 }, async () => {
  const same = await store.claim(settlement({ transactionId: 'SAME' }), { feesInAll: 100n })
  const limited = await store.claim(settlement({ feeMicroAlgos: 3n }), { feesInAll: 100n })
  return [`same ${same.type}`, `limited ${limited.type === 'limited' ? limited.limit : limited.type}`]
})
const outcomes = (await Promise.all(claims)).flat()
await store.close()
process.stdout.write(JSON.stringify(outcomes))
