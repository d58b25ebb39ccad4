/**
 * Payments while the facilitator is killed again and again, and responses of the node are lost: in the end the ledger, the
 * seller's and the buyers' books agree to the unit, no request was paid twice, and no payment was served twice.
 * LATCHKEY_CHAOS_PAYMENTS sets how many; there is a kill for every ten of them.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { Buyer, Chain, decodeReceipt, LostResponseError, payingFetch, Signer } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/node'
import { Gate, httpFacilitator } from '@latchkey/x402/server'
import { DatabaseSync } from '@photostructure/sqlite'
import { sleep, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { get, latchkeyCommand } from '../support/devnet.test.helper.js'

const wanted = Number(process.env['LATCHKEY_CHAOS_PAYMENTS'] ?? 100)
const kills = Math.floor(wanted / 10)
const buyerCount = 5
const price = 1_000n
const dollar = 31566704n

test(`${wanted} payments and ${kills} kills`, { timeout: 120_000 + wanted * 2_000 }, async (t) => {
  const market = await open(t)
  const { devnet, buyers, served } = market
  const before = await Promise.all([market.sellerAddress, ...market.buyerAddresses].map((one) => holding(market, one)))

  let bought = 0
  const trouble = makeTrouble(market, () => bought)
  await Promise.all(
    buyers.map(async (buyer) => {
      while (bought < wanted) {
        bought++
        await buyOnce(buyer, market)
      }
    }),
  )
  const { killed, dropped } = await trouble
  await market.startFacilitator()
  await until('nothing pending', () => settlements(market, 'pending') === 0)
  // Payments that were signed and never sent expire.
  devnet.mine(1_100)

  const states = await Promise.all(buyers.map((buyer) => finalStates(buyer)))
  const settled = states.flatMap((own) => own.filter(({ state }) => state === 'settled'))
  const after = await Promise.all([market.sellerAddress, ...market.buyerAddresses].map((one) => holding(market, one)))
  assert.equal(after[0]! - before[0]!, price * BigInt(settled.length), "the seller's balance")
  for (const [index, own] of states.entries()) {
    const paid = own.filter(({ state }) => state === 'settled').length
    assert.equal(before[index + 1]! - after[index + 1]!, price * BigInt(paid), `the balance of buyer ${index}`)
    assert.ok(
      own.every(({ state }) => state !== 'open'),
      'the outcome of every payment is known',
    )
  }
  assert.equal(settlements(market, 'settled'), settled.length, "the facilitator's book")
  const settledIds = new Set(settled.map(({ transactionId }) => transactionId))
  assert.equal(new Set(served).size, served.length, 'no payment was served twice')
  for (const transactionId of served)
    assert.ok(settledIds.has(transactionId), `${transactionId} was served and not paid`)
  assert.equal(served.length + market.lost.size, settledIds.size, 'what was paid was served, or is known to be lost')
  assert.equal(killed, kills)
  assert.ok(dropped > 0, 'responses of the node were lost')
  const summary = `${market.lost.size} responses lost, ${killed} kills, ${dropped} responses of the node dropped`
  t.diagnostic(`${settledIds.size} settled, ${served.length} served, ${summary}`)
})

type Market = {
  devnet: Devnet
  chain: Chain
  buyers: Buyer[]
  buyerAddresses: string[]
  sellerAddress: string
  url: string
  /** Transaction ids in the receipts that the seller sent. */
  served: string[]
  /** Settled payments whose response did not reach the buyer. */
  lost: Set<string>
  storeFile: string
  startFacilitator: () => Promise<void>
  killFacilitator: () => Promise<void>
}

async function open(t: TestContext): Promise<Market> {
  const devnet = await Devnet.start({ port: 0 })
  t.after(() => devnet.stop())
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const keys = Array.from({ length: buyerCount }, (_, index) => Signer.fromSeed(new Uint8Array(32).fill(index + 100)))
  for (const { address } of keys) devnet.fund(address, { microDollars: 10_000_000n })
  const seller = devnet.accounts[1]!.address
  const storeFile = join(temporaryDirectory(t), 'facilitator.db')
  const port = await freePort()
  const facilitator = new FacilitatorProcess(t, devnet, storeFile, port)
  await facilitator.start()
  const served: string[] = []
  const gate = await Gate.open({
    routes: { 'GET /weather': { accepts: { network: chain.caip2, price: '$0.001', payTo: seller } } },
    facilitators: httpFacilitator({ url: `http://127.0.0.1:${port}`, timeoutMs: 5_000 }),
    chains: chain,
    onError: () => {},
  })
  const http = createServer(
    paymentGate(gate, (_, response) => {
      response.once('finish', () => {
        const receipt = response.getHeader('PAYMENT-RESPONSE')
        if (response.statusCode === 200) served.push(decodeReceipt(String(receipt)).transaction)
      })
      response.end('{"report":{"weather":"sunny"}}')
    }),
  ).listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(() => http.close().closeAllConnections())
  return {
    devnet,
    chain,
    buyers: keys.map((signer) => new Buyer({ signer, chains: chain })),
    buyerAddresses: keys.map(({ address }) => address),
    sellerAddress: seller,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/weather`,
    served,
    lost: new Set(),
    storeFile,
    startFacilitator: () => facilitator.start(),
    killFacilitator: () => facilitator.kill(),
  }
}

/** Retries until it is served, or its payment is settled and the response lost: then it is not paid again. */
async function buyOnce(buyer: Buyer, { url, lost }: Market): Promise<void> {
  for (;;) {
    try {
      const response = await payingFetch(buyer)(url)
      await response.arrayBuffer()
      if (response.status === 200) return
    } catch (error) {
      if (!(error instanceof LostResponseError)) throw error
      if (await wasTaken(buyer, error.transactionId)) {
        lost.add(error.transactionId)
        return
      }
    }
    await sleep(50)
  }
}

/** Decides by the ledger, and waits for a payment that may still be confirmed. */
async function wasTaken(buyer: Buyer, transactionId: string): Promise<boolean> {
  for (let look = 0; look < 100; look++) {
    if ((await buyer.lookUp(transactionId)) === 'settled') return true
    await sleep(100)
  }
  return false
}

async function finalStates(buyer: Buyer): Promise<{ transactionId: string; state: string }[]> {
  const states: { transactionId: string; state: string }[] = []
  for (const { transactionId } of buyer.payments.all()) {
    states.push({ transactionId, state: await buyer.lookUp(transactionId) })
  }
  return states
}

/**
 * Kills all along the way, at moments that differ from run to run; before every other one, an response of the node that
 * never comes.
 */
async function makeTrouble(market: Market, bought: () => number): Promise<{ killed: number; dropped: number }> {
  let killed = 0
  for (; killed < kills; killed++) {
    while (bought() < (killed * wanted) / kills) await sleep(2)
    await sleep(Math.random() * 30)
    if (killed % 2 === 0) market.devnet.addFault({ type: 'drop', count: 1 })
    await market.killFacilitator()
    await market.startFacilitator()
  }
  const { faults } = await get(`${market.devnet.url}/devnet/faults`)
  const waiting = (faults as { count: number }[]).reduce((sum, { count }) => sum + count, 0)
  return { killed, dropped: Math.ceil(kills / 2) - waiting }
}

async function holding({ chain }: Market, address: string): Promise<bigint> {
  return (await chain.algod.holding(address, dollar))!.amount
}

function settlements({ storeFile }: Market, state: 'pending' | 'settled'): number {
  const database = new DatabaseSync(storeFile)
  try {
    const row = database.prepare('SELECT COUNT(*) AS count FROM settlements WHERE state = ?').get(state)
    return (row as { count: number }).count
  } finally {
    database.close()
  }
}

class FacilitatorProcess {
  readonly #args: string[]
  readonly #environment: NodeJS.ProcessEnv
  #child: ChildProcess | undefined

  constructor(t: TestContext, devnet: Devnet, storeFile: string, port: number) {
    const chain = ['--network', 'local', '--node', devnet.url, '--dollar', dollar.toString()]
    this.#args = [latchkeyCommand, 'facilitator', '--port', String(port), '--store', storeFile, '--json', ...chain]
    this.#environment = { ...process.env, AVM_MNEMONIC: devnet.accounts[0]!.mnemonic }
    t.after(() => this.kill())
  }

  async start(): Promise<void> {
    if (this.#child !== undefined) return
    const child = spawn(process.execPath, this.#args, { env: this.#environment, stdio: ['ignore', 'pipe', 'ignore'] })
    this.#child = child
    await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])
    assert.equal(child.exitCode, null, 'the facilitator started')
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
}

async function freePort(): Promise<number> {
  const server = createNetServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
