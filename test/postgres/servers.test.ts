/** Tests the servers of the other tests: none can connect to the server of another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { PostgresServer } from '../support/postgres.test.helper.js'

test('an address of one server is refused by another, also if that one has taken the port', async (t) => {
  const first = await PostgresServer.start(t)
  await first.kill()
  const second = await PostgresServer.start(t, { port: first.port })
  const misled = new Client({ connectionString: first.url() })
  await assert.rejects(misled.connect(), { code: '28P01' })
  const { rows } = await second.query('SELECT 1 AS one')
  assert.deepEqual(rows, [{ one: 1 }])
})
