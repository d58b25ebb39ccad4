/**
 * The reservation for a transaction that never entered the ledger is released, as reported by the daemon's node;
 * nothing else is released. Runs a real daemon with real devnets.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Bytes, Transaction } from '@latchkey/algorand'
import type { Devnet } from '@latchkey/devnet'
import { startDevnet } from '../devnet/start.test.helper.js'
import {
  type Json,
  makeDataDir,
  removeDataDir,
  startHostedDaemon,
  type TestDaemon,
} from '../support/daemon.test.helper.js'

const fee = 1_000n
const most = 10_000_000n
/** A node's report is final ten rounds after the last valid round. */
const longPast = 40
const timeoutMs = 60_000
const wallet_password = 'secret'

/** A daemon that is restarted with different nodes. The daemon checks reservations shortly after each start. */
class Owner {
  readonly #dir: string
  #daemon: TestDaemon | undefined
  #token = ''
  #address = ''

  constructor(t: TestContext) {
    this.#dir = makeDataDir()
    t.after(async () => {
      await this.#daemon?.kill()
      removeDataDir(this.#dir)
    })
  }

  get address(): string {
    return this.#address
  }

  async startWith(devnet: Devnet | undefined): Promise<void> {
    await this.#daemon?.stop()
    const algod = devnet && { url: devnet.url, token: devnet.token ?? '' }
    this.#daemon = await startHostedDaemon({ dir: this.#dir, config: algod ? { algod } : {} })
  }

  /** Creates an agent with the same limit on each of the networks. */
  async createAgent(networks: readonly string[]): Promise<void> {
    const { wallet } = await this.#ok('/v1/wallet', { wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password })
    const { wallet_handle_token } = await this.#ok('/v1/wallet/init', { wallet_id: wallet.id, wallet_password })
    const { address } = await this.#ok('/v1/key', { wallet_handle_token })
    const limits = networks.map((network) => ({
      per: 'total',
      network,
      type: 'amount',
      asset_id: '0',
      amount: `${most}`,
    }))
    const rules = { networks, limits, payees: { allow_all: true } }
    const grant = { name: 'shopper', wallet_id: wallet.id, wallet_password, addresses: [address], rules }
    const { token } = await this.#ok('/latchkey/v1/agents', grant)
    this.#token = token
    this.#address = address
  }

  /** Signs a payment to itself as the agent. */
  async sign(network: string, amount: bigint, firstValid: bigint, lastValid = firstValid + 5n): Promise<Buffer> {
    const publicKey = Address.decode(this.#address)
    const fields = { type: 'pay', snd: publicKey, rcv: publicKey, amt: amount, fee, fv: firstValid, lv: lastValid }
    const transaction = Bytes.toBase64(Transaction.encode({ ...fields, gh: Bytes.fromBase64(network)! }))
    const { signed_transaction } = await this.#ok('/latchkey/v1/agent/sign', { transaction }, this.#token)
    return Buffer.from(signed_transaction, 'base64')
  }

  /** Returns the amount spent of each limit, in the order of the networks. */
  async spent(): Promise<bigint[]> {
    const { json, text, status } = await this.#daemon!.call('GET', '/latchkey/v1/agent', undefined, {
      token: this.#token,
    })
    assert.equal(status, 200, text)
    return json.budget.map(({ used }: { used: string }) => BigInt(used))
  }

  /** Waits until these amounts are spent; any other amounts at the end fail the test. */
  async waitForSpent(expected: readonly bigint[]): Promise<void> {
    const deadline = Date.now() + timeoutMs
    let spent = await this.spent()
    while (`${spent}` !== `${expected}` && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      spent = await this.spent()
    }
    assert.deepEqual(spent, expected)
  }

  async records(event: string): Promise<Json[]> {
    return (await this.#ok('/latchkey/v1/audit/search', { events: [event], count: 100 })).records
  }

  async #ok(path: string, body: unknown, token?: string): Promise<Json> {
    const response = await this.#daemon!.call('POST', path, body, token === undefined ? {} : { token })
    assert.equal(response.status, 200, response.text)
    return response.json
  }
}

async function submit({ url, token }: Devnet, signed: Buffer): Promise<void> {
  const headers = { 'Content-Type': 'application/x-binary', 'X-Algo-API-Token': token ?? '' }
  const response = await fetch(`${url}/v2/transactions`, { method: 'POST', headers, body: new Uint8Array(signed) })
  assert.equal(response.status, 200, await response.text())
}

test('the reservation of an unsent payment is released; a payment in the ledger stays spent', {
  timeout: 3 * timeoutMs,
}, async (t) => {
  const devnet = await startDevnet(t)
  const owner = new Owner(t)
  await owner.startWith(undefined)
  await owner.createAgent([devnet.genesisHash])
  devnet.fund(owner.address, { microAlgos: most })
  const firstValid = devnet.round + 1n
  await submit(devnet, await owner.sign(devnet.genesisHash, 30n, firstValid))
  await owner.sign(devnet.genesisHash, 500n, firstValid)
  devnet.mine(longPast)
  // Still valid, so it could still be sent.
  await owner.sign(devnet.genesisHash, 7_000n, devnet.round, devnet.round + 1_000n)
  assert.deepEqual(await owner.spent(), [30n + 500n + 7_000n + 3n * fee])
  await owner.startWith(devnet)
  await owner.waitForSpent([30n + 7_000n + 2n * fee])
  assert.equal((await owner.records('reservation_returned')).length, 1)
  await owner.startWith(undefined)
  assert.deepEqual(await owner.spent(), [30n + 7_000n + 2n * fee], 'after a restart')
})

test('a node of another network, or without the blocks, releases no reservation', {
  timeout: 3 * timeoutMs,
}, async (t) => {
  const devnet = await startDevnet(t, { historyBlocks: 30 })
  const elsewhere = Buffer.alloc(32, 9).toString('base64')
  const owner = new Owner(t)
  await owner.startWith(undefined)
  await owner.createAgent([devnet.genesisHash, elsewhere])
  devnet.mine(20)
  await owner.sign(devnet.genesisHash, 30n, 10n)
  await owner.sign(elsewhere, 40n, 10n)
  devnet.mine(100)
  // Once this payment is released, the daemon has checked all of them.
  await owner.sign(devnet.genesisHash, 500n, 100n, 105n)
  await owner.sign(elsewhere, 600n, 100n, 105n)
  assert.equal(devnet.round, 120n)
  await owner.startWith(devnet)
  await owner.waitForSpent([30n + fee, 40n + 600n + 2n * fee])
  const returned = await owner.records('reservation_returned')
  assert.deepEqual(
    returned.map(({ record }) => JSON.parse(record).detail.last_valid),
    ['105'],
  )
})
