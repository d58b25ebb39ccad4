/** Runs the conformance tests of settlement stores on PostgreSQL, with three replicas. */
import { after } from 'node:test'
import { PostgresSettlements } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { testSettlementStore } from '../support/settlementConformance.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '60' } })
const address = await emptyDatabase(server)
const admin = new Client({ connectionString: address })
await admin.connect()
// The server stops first.
admin.on('error', () => {})

let count = 0

testSettlementStore(
  'PostgreSQL',
  async (t) => {
    const schema = `test_${++count}`
    const open = () => PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 4 })
    const stores = await Promise.all([open(), open(), open()])
    t.after(() => Promise.all(stores.map((store) => store.close())))
    return { stores, pass: (ms) => pass(schema, ms) }
  },
  { keepsCreated: false },
)

/** Ages the server's counts, because its clock cannot be set. */
async function pass(schema: string, ms: number): Promise<void> {
  const shift = (table: string, parts: number) =>
    admin.query(`WITH old AS (DELETE FROM ${schema}.${table} RETURNING *), moved AS (
      SELECT (jsonb_populate_record(NULL::${schema}.${table}, to_jsonb(old) || jsonb_build_object('part', part - ${parts}))).* FROM old)
      INSERT INTO ${schema}.${table} SELECT * FROM moved`)
  await shift('settlement_rates', Math.round(ms / 1000))
  await shift('settlement_fees', Math.floor(ms / 900_000))
  await admin.query(`UPDATE ${schema}.holds SET until = until - ${ms} * interval '1 millisecond'`)
}
