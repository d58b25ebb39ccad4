import { after } from 'node:test'
import { PostgresClaims } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { type ClaimsKind, claimsConformance } from '../support/claimsConformance.test.helper.js'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'

const server = await PostgresServer.start({ after })
const address = await emptyDatabase(server)
let stores = 0

/** Moves all times of a store back, which simulates the passing of that much time. */
async function age(schema: string, ms: number): Promise<void> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    const by = `${Math.ceil(ms)} * interval '1 millisecond'`
    await client.query(`UPDATE ${schema}.claims SET until_at = until_at - ${by}, answer_until = answer_until - ${by};
      UPDATE ${schema}.metered_work SET until_at = until_at - ${by};
      UPDATE ${schema}.unpaid_payers SET until_at = until_at - ${by};
      UPDATE ${schema}.passes SET until_at = until_at - ${by}`)
  } finally {
    await client.end()
  }
}

const postgres: ClaimsKind = {
  name: 'PostgresClaims',
  hasOwnClock: true,
  hasSales: true,
  open: async (t, options) => {
    const schema = `test_${++stores}`
    const open = (): Promise<PostgresClaims> => PostgresClaims.open({ address, schema, maxConnections: 4, ...options })
    const [store, ...others] = await Promise.all([open(), open(), open()])
    t.after(async () => {
      for (const one of [store!, ...others]) await one.close()
    })
    return { store: store!, others, nowMs: Date.now, pass: (ms) => age(schema, ms) }
  },
}

claimsConformance(postgres)
