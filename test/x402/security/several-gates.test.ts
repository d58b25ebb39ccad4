/** A payment opens one request, at one of several independent gates. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type FacilitatorClient, httpFacilitator } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { altered, headerJson, openMarket, repeated } from '../support/market.test.helper.js'
import { cents, openStall, serveFacilitator, show } from '../support/stall.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })
const { url: facilitatorUrl } = await serveFacilitator({ after }, market.facilitator)
const kinds: { [name: string]: FacilitatorClient } = {
  'in the process': market.local,
  'over HTTP': httpFacilitator({ url: facilitatorUrl }),
  'over HTTP and trusted': httpFacilitator({ url: facilitatorUrl, isTrusted: true }),
}

for (const [kind, client] of Object.entries(kinds)) {
  for (const method of ['GET', 'POST']) {
    test(`A7 five services of one payee, facilitator ${kind}: one payment opens one ${method}`, {
      timeout,
    }, async (t) => {
      const warnings: string[] = []
      const options = {
        routes: cents(market, `${method} /a`),
        facilitators: client,
        onWarning: (text: string) => void warnings.push(text),
      }
      const stalls = await Promise.all(Array.from({ length: 5 }, () => openStall(t, market, options)))
      const header = await market.payment(await fetch(`${stalls[0]!.url}/a`, { method }))
      const before = await market.dollars()
      const init = { method, headers: { 'PAYMENT-SIGNATURE': header } }
      const responses = await Promise.all(stalls.map(({ url }) => repeated(`${url}/a`, header, init)))
      const statuses = responses.map(({ status }) => status)
      assert.deepEqual(statuses.sort(), [200, 402, 402, 402, 402])
      for (const response of responses.filter(({ status }) => status === 402)) {
        assert.equal(headerJson(response, 'payment-required')['error'], 'payment_already_used')
      }
      assert.equal((await market.dollars()) - before, 10_000n)
      assert.ok(warnings.some((text) => /belongs to another server/.test(text)))
    })
  }
}

test('A7 a payment that is undecided at five services opens one of them', { timeout }, async (t) => {
  let isDecided = false
  const facilitators = altered(market.local, {
    isTrusted: false,
    // Each gate verifies the payment before one of them settles it.
    verify: async () => ({ isValid: true }),
    settle: async (payload, requirements, ...rest) => {
      const settled = await market.local.settle(payload, requirements, ...rest)
      if (isDecided || !settled.success) return settled
      throw new Error('the connection broke')
    },
  })
  const options = { routes: cents(market, 'GET /a'), facilitators }
  const stalls = await Promise.all(Array.from({ length: 5 }, () => openStall(t, market, options)))
  const header = await market.payment(await fetch(`${stalls[0]!.url}/a`))
  await Promise.all(stalls.map(async ({ url }) => (await show(`${url}/a`, header)).arrayBuffer()))
  isDecided = true
  const statuses = await Promise.all(stalls.map(async ({ url }) => (await repeated(`${url}/a`, header)).status))
  assert.deepEqual(statuses.sort(), [200, 402, 402, 402, 402])
})

test('M only the owner can access claims.db and its companion files', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-security-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'claims.db')
  // Left by an older version.
  writeFileSync(path, '', { mode: 0o644 })
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a'), claims: opened(t, path) })
  assert.equal((await show(`${url}/a`, await market.payment(await fetch(`${url}/a`)))).status, 200)
  for (const suffix of ['', '-wal', '-shm']) assert.equal(statSync(`${path}${suffix}`).mode & 0o777, 0o600, suffix)
})

function opened(t: { after: (work: () => unknown) => void }, path: string): SqliteClaims {
  const claims = new SqliteClaims(path)
  t.after(() => claims.close())
  return claims
}
