/** Tests the revenue of a shop with claims in PostgreSQL, through the command and on its page. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { migratePostgres, PostgresClaims } from '@latchkey/x402/postgres'
import { salesPage } from '@latchkey/x402/server'
import { Client } from 'pg'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { idOf } from '../support/paymentIds.test.helper.js'
import { asRole, emptyDatabase, forCommand, PostgresServer } from '../support/postgres.test.helper.js'
import { saleOf } from '../support/salesConformance.test.helper.js'

const server = await PostgresServer.start({ after })

type Outcome = { code: number | null; stdout: string; stderr: string }

function run(...given: readonly string[]): Promise<Outcome> {
  const { args, env } = forCommand(given)
  return runAsGiven(args, env)
}

function runAsGiven(args: readonly string[], env = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { timeout: 60_000, env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env } }
    const child = execFile(process.execPath, [latchkeyCommand, ...args], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

test('latchkey sales reads a database, and creates nothing in one without sales', async (t) => {
  const address = await emptyDatabase(server)
  const missing = await run('sales', address)
  assert.equal(missing.code, 3)
  assert.match(missing.stderr, /has no sales table that this role can read/)
  const claims = await PostgresClaims.open({ address })
  t.after(() => claims.close())
  await claims.sales.record([saleOf(idOf(1), { timeMs: Date.now() }), saleOf(idOf(2), { timeMs: Date.now() })])
  const shown = await run('sales', address, '--json')
  assert.equal(shown.code, 0, shown.stderr)
  assert.deepEqual(
    JSON.parse(shown.stdout).routes.map(({ route, amount, payments }: { [name: string]: unknown }) => [
      route,
      amount,
      payments,
    ]),
    [['GET /weather', '0.02', 2]],
  )
  assert.match((await run('sales', address, '--csv', 'payments')).stdout, new RegExp(idOf(2)))
})

test('latchkey sales accepts no password in its arguments', async () => {
  const { code, stderr, stdout } = await runAsGiven(['sales', 'postgres://shop:hunter2@127.0.0.1/shop'])
  assert.equal(code, 2)
  assert.match(stderr, /PGPASSWORD/)
  assert.ok(!`${stdout}${stderr}`.includes('hunter2'))
})

test('the page of a shop shows the sales of PostgresClaims', async (t) => {
  const claims = await PostgresClaims.open({ address: await emptyDatabase(server) })
  t.after(() => claims.close())
  await claims.sales.record([saleOf(idOf(1), { timeMs: Date.now() })])
  const page = salesPage({ claims, token: 'a-token-of-some-length-that-is-long' })
  const authorization = 'Bearer a-token-of-some-length-that-is-long'
  const response = await page(new Request('http://127.0.0.1/sales', { headers: { authorization } }))
  assert.equal(response.status, 200)
  assert.match(await response.text(), /0\.01/)
})

test('a role with the rights granted by the migration serves a shop, and cannot change tables', async (t) => {
  const address = await emptyDatabase(server)
  const admin = new Client({ connectionString: address })
  await admin.connect()
  t.after(() => admin.end())
  await server.createRole('shop')
  await migratePostgres('seller', { address, runtimeRole: 'shop' })
  const ofShop = asRole(address, 'shop')
  const claims = await PostgresClaims.open({ address: ofShop })
  t.after(() => claims.close())
  const lease = {
    owner: 'a',
    binding: 'b',
    proof: 'none',
    leaseMs: 1_000,
    network: 'n',
    round: 1n,
    forgetRound: 9n,
  } as const
  const sale = saleOf(idOf(1), { outcome: 'verified' })
  assert.equal((await claims.claim(idOf(1), { ...lease, nowMs: 0, sale })).type, 'new')
  await claims.hold(idOf(1), 'a', { status: 200, headers: [], body: new Uint8Array(1) })
  await claims.finish(idOf(1), 'a', 'forgotten')
  await claims.sales.record([saleOf(idOf(1))])
  await claims.passes.issue(idOf(1), { nowMs: 0, untilMs: 1_000, requests: 1 })
  const client = new Client({ connectionString: ofShop })
  await client.connect()
  t.after(() => client.end())
  for (const text of [
    'DROP TABLE latchkey.claims',
    'CREATE TABLE latchkey.x ()',
    'UPDATE latchkey.seller SET id = 1',
  ]) {
    await assert.rejects(client.query(text), { code: '42501' })
  }
})
