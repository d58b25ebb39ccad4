/** An agent buys by usage from a gate: the daemon's budget, the gate's charge and the ledger must agree. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { Bytes } from '@latchkey/algorand'
import { Daemon } from '@latchkey/kmd'
import { type AgentClient, Kmd } from '@latchkey/kmd-client'
import { fromAgent } from '@latchkey/x402/client'
import { dollar, openMarket, until } from './support/market.test.helper.js'
import { openShop, pay } from './support/uptoShop.test.helper.js'

const password = 'secret'
const market = await openMarket({ after })

/**
 * A daemon without a node, so that it sees no charges, and the token of an agent with $1.20 a day. The daemon can be
 * restarted with a node.
 */
async function startDaemon(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-upto-agent-'))
  const drivers = { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true }, ledger: { disable: true } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: '127.0.0.1:0', drivers }))
  const { url, token } = market.devnet
  let daemon = await Daemon.start({ dataDir, limits: { stopMs: 100 } })
  const kmd = await Kmd.connect({ dataDir })
  t.after(async () => {
    await kmd.close()
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  })
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password })
  const wallet = await kmd.unlock({ id: walletId, password })
  const address = await wallet.generateKey()
  await wallet.release()
  market.devnet.fund(address, { microAlgos: 10_000_000n, assets: [{ assetId: dollar, amount: 5_000_000n }] })
  const network = Bytes.toBase64(market.chain.genesisHash)
  const { agent, token: agentToken } = await kmd.agents.create({
    ...{ name: 'shopper', walletId, addresses: [address], password },
    rules: {
      networks: [network],
      limits: [{ network, type: 'amount', assetId: dollar, per: 'day', amount: 1_200_000n }],
      payees: { allow: 'all' },
    },
  })
  return {
    ...{ kmd, agentId: agent.id, address },
    connect: async (): Promise<AgentClient> => {
      const client = await Kmd.asAgent({ dataDir, token: agentToken })
      t.after(() => client.close())
      return client
    },
    restart: async (): Promise<void> => {
      await daemon.stop()
      daemon = await Daemon.start({ dataDir, node: { url, token }, limits: { stopMs: 100 } })
    },
  }
}

test('an agent reserves the maximum, is charged for the usage, and gets the rest back', {
  timeout: 120_000,
}, async (t) => {
  let runs = 0
  const { url, received } = await openShop(market, t, (_, response, payment) => {
    runs++
    payment.charge!('$0.10')
    response.end('done')
  })
  const { kmd, agentId, address, connect, restart } = await startDaemon(t)
  let agent = await connect()
  const buyer = market.newBuyer({ signer: await fromAgent({ agent }) })
  const used = async (): Promise<bigint> => (await agent.self()).budget[0]!.used

  const { status, receipt } = await pay(buyer, url)
  assert.deepEqual([status, receipt!.amount, receipt!.payer], [200, '100000', address])
  assert.equal(await used(), 500_000n, 'the maximum counts until the daemon sees the charge in a block')
  assert.equal((await pay(buyer, url)).status, 200)

  // Two maxima and a third one exceed the limit, although the charges do not.
  await assert.rejects(pay(buyer, url), { code: 'agent_limit_exceeded' })
  assert.deepEqual([runs, await received(), await used()], [2, 200_000n, 1_000_000n])

  // The daemon looks for charges soon after its start.
  await restart()
  agent = await connect()
  await until(async () => (await used()) === 200_000n)
  const again = market.newBuyer({ signer: await fromAgent({ agent }) })
  assert.equal((await pay(again, url)).status, 200)
  assert.deepEqual([runs, await received()], [3, 300_000n])

  await kmd.agents.revoke({ agent: agentId })
  await assert.rejects(pay(again, url), { name: 'KmdClientError' })
  assert.deepEqual([runs, await received()], [3, 300_000n])
})
