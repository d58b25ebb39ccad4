/** Tests tables of version 1, from before leases were renewed, and replicas of that version that still use them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { migratePostgres, PostgresClaims } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { claimsUpgrade, longLeaseMs, type VersionBefore } from '../support/claimsUpgrade.test.helper.js'
import { asRole, emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'

const server = await PostgresServer.start({ after })
const address = await emptyDatabase(server)
const admin = new Client({ connectionString: address })
await admin.connect()
// The server stops first.
admin.on('error', () => {})
let schemas = 0

/** Removes everything that later versions added. */
async function schemaOfVersion1(): Promise<string> {
  const schema = `upgrade_${++schemas}`
  await migratePostgres('seller', { address, schema })
  await admin.query(`
    DROP FUNCTION ${schema}.take_abandoned, ${schema}.leave_unpaid, ${schema}.note_work, ${schema}.begin_work, ${schema}.count_unpaid,
      ${schema}.is_unpaid;
    DROP TABLE ${schema}.metered_work, ${schema}.unpaid_payers;
    DROP FUNCTION ${schema}.claim_purchase;
    DROP TABLE ${schema}.purchases;
    DROP FUNCTION ${schema}.claim_fenced, ${schema}.renew_claims, ${schema}.begin_claim;
    DROP FUNCTION ${schema}.hold_answer(text, text, integer, text, bytea, bigint, bigint, bigint);
    DROP FUNCTION ${schema}.finish_claim(text, text, text, bigint, bigint);
    DROP SEQUENCE ${schema}.claim_fences;
    ALTER TABLE ${schema}.claims DROP COLUMN fence, DROP COLUMN fenced_owner, DROP COLUMN is_begun;
    DELETE FROM ${schema}.migrations WHERE component = 'seller' AND version >= 2`)
  return schema
}

function versionBefore(schema: string): VersionBefore {
  return {
    claim: async (transactionId, owner) => {
      const values = [transactionId, owner, 'b', 'none', longLeaseMs, 'n', 20, null]
      const sql = `SELECT o_result FROM ${schema}.claim_payment($1, $2, $3, $4, $5, $6, $7, $8)`
      return ((await admin.query(sql, values)).rows[0] as { o_result: string }).o_result
    },
    finish: async (transactionId, owner, end) => {
      await admin.query(`SELECT ${schema}.finish_claim($1, $2, $3, 300000)`, [transactionId, owner, end])
    },
  }
}

claimsUpgrade('PostgresClaims', async (t, prepare) => {
  const schema = await schemaOfVersion1()
  const before = versionBefore(schema)
  await prepare(before)
  const store = await PostgresClaims.open({ address, schema, maxConnections: 2 })
  t.after(() => store.close())
  const pass = async (ms: number): Promise<void> => {
    await admin.query(`UPDATE ${schema}.claims SET until_at = until_at - ${ms} * interval '1 millisecond'`)
  }
  return { store, before, pass, nowMs: Date.now }
})

test('PostgresClaims: tables of version 1 keep their id, and the runtime role can claim', async () => {
  const schema = await schemaOfVersion1()
  const { rows } = await admin.query(`SELECT id FROM ${schema}.seller`)
  await server.createRole(schema)
  const report = await migratePostgres('seller', { address, schema, runtimeRole: schema })
  assert.deepEqual([report.from, report.to], [1, 4])
  const store = await PostgresClaims.open({ address: asRole(address, schema), schema, maxConnections: 1 })
  assert.equal(store.id, (rows[0] as { id: string }).id)
  const lease = { owner: 'a', binding: 'b', proof: 'none', nowMs: 0, leaseMs: 1_000, network: 'n' } as const
  const { fence } = (await store.claim('x', { ...lease, round: 1n, forgetRound: 9n })) as { fence: number }
  const held = { transactionId: 'x', owner: 'a', fence }
  assert.deepEqual(await store.renewals.renew([held], 1_000, 0), ['a'])
  assert.equal(await store.renewals.begin(held), true)
  assert.equal(await store.hold('x', 'a', { status: 200, headers: [], body: new Uint8Array(1) }, fence), true)
  assert.equal(await store.finish('x', 'a', 'served', 0, fence), true)
  await store.close()
})
