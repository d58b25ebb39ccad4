/** Tests paid tools over stdio with a seller that is killed at the worst moments. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Buyer } from '@latchkey/x402/client'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { LostToolResultError, payingCallTool, paymentOf } from './client/index.js'
import { buyerOf, cent, earned, listen, type Market, openMarket, text } from './market.test.helper.js'

const timeout = 120_000
const seller = fileURLToPath(new URL('./seller.test.helper.js', import.meta.url))

/** Starts a seller in its own process and returns a client for it. */
async function startSeller(t: TestContext, env: { [name: string]: string }): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [seller], env, stderr: 'inherit' }))
  t.after(() => client.close())
  return client
}

type Crash = { market: Market; buyer: Buyer; restart: (crash?: string) => Promise<Client>; runs: () => number }

async function openCrash(t: TestContext): Promise<Crash> {
  const market = await openMarket(t)
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-mcp-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const runsFile = join(folder, 'runs')
  const env = {
    NODE_URL: market.devnet.url,
    FACILITATOR_URL: await listen(t, createFacilitatorHandler({ facilitator: market.settler })),
    PAY_TO: market.payTo,
    CLAIMS: join(folder, 'claims.db'),
    RUNS: runsFile,
  }
  return {
    market,
    buyer: buyerOf(market),
    restart: (crash = '') => startSeller(t, { ...env, CRASH: crash }),
    runs: () => (existsSync(runsFile) ? readFileSync(runsFile, 'utf8').split('\n').length - 1 : 0),
  }
}

test('a seller that is killed after the settlement returns the answer for the same payment', { timeout }, async (t) => {
  const { market, buyer, restart, runs } = await openCrash(t)
  const options = { server: 'shop', repeatMs: 1 }
  const lost = await payingCallTool(
    await restart('settled'),
    buyer,
    options,
  )({ name: 'forecast' }).catch((error) => error)
  assert.ok(lost instanceof LostToolResultError, String(lost))
  assert.deepEqual([lost.state, runs(), await earned(market)], ['settled', 1, cent])
  const result = await payingCallTool(await restart(), buyer, options)({ name: 'forecast' })
  assert.deepEqual(result.content, text('sunny').content)
  assert.deepEqual(
    [paymentOf(result)?.payment.transactionId, paymentOf(result)?.state],
    [lost.transactionId, 'settled'],
  )
  assert.deepEqual([runs(), await earned(market), buyer.payments.all().length], [1, cent, 1])
})

test('a seller that is killed before the settlement charges nothing, and no second payment is made', {
  timeout,
}, async (t) => {
  const { market, buyer, restart, runs } = await openCrash(t)
  const options = { server: 'shop', repeatMs: 1 }
  const lost = await payingCallTool(
    await restart('handler'),
    buyer,
    options,
  )({ name: 'forecast' }).catch((error) => error)
  assert.ok(lost instanceof LostToolResultError, String(lost))
  assert.deepEqual([lost.state, await earned(market)], ['open', 0n])
  const callTool = payingCallTool(await restart(), buyer, options)
  // The claim of the killed process ends only when it expires. Until then the payment is neither served nor refused.
  const result = await callTool({ name: 'forecast' }).catch((error) => error)
  assert.ok(result instanceof LostToolResultError, String(result))
  assert.deepEqual([result.transactionId, result.state, runs()], [lost.transactionId, 'open', 1])
  assert.deepEqual([await earned(market), buyer.payments.all().length], [0n, 1])
})
