/**
 * An agent with a dollar a day authorizes prices by usage over 50 connections while its daemon is killed repeatedly.
 * Sellers charge a part, all or nothing, try to charge twice, or never charge. The limit holds at every moment, and in
 * the end exactly the charges count. LATCHKEY_CRASH_KILLS sets the number of kills.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Bytes, Ed25519, Submission, Transaction } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import { startDevnet } from '../../devnet/start.test.helper.js'
import { makeDataDir, removeDataDir, startDaemon, type TestDaemon } from '../../support/daemon.test.helper.js'
import { sendUntilKilled } from './CrashRun.test.helper.js'

const kills = Number(process.env['LATCHKEY_CRASH_KILLS'] ?? 6)
const clients = 50
const dollarPerDay = 1_000_000n
/** A life of the daemon asks for more than the limit. */
const maxAmount = 50_000
const waitMs = 180_000
const wallet_password = 'secret'
const dollar = 31566704n
const facilitator = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(3))
const seller = Address.encode(Ed25519.keyPairFromSeed(new Uint8Array(32).fill(2)).publicKey)

type Authorized = { readonly unsigned: UptoPayment.UnsignedAuthorization; charge: bigint | undefined }

class UptoRun {
  readonly #dir: string
  readonly #devnet: Awaited<ReturnType<typeof startDevnet>>
  /** Authorizations whose signature arrived, by id. */
  readonly #signed = new Map<string, Authorized>()
  readonly #unanswered = new Map<string, UptoPayment.UnsignedAuthorization>()
  readonly counts = { cutOff: 0, refused: 0, repeats: 0, charged: 0, secondCharges: 0 }
  #daemon: TestDaemon | undefined
  #token = ''
  #payer = ''

  constructor(dir: string, devnet: Awaited<ReturnType<typeof startDevnet>>) {
    this.#dir = dir
    this.#devnet = devnet
  }

  get signatures(): number {
    return this.#signed.size
  }

  async start(): Promise<void> {
    const { url, token } = this.#devnet
    this.#daemon = await startDaemon({ dir: this.#dir, config: { algod: { url, token: token ?? '' } } })
  }

  async kill(): Promise<void> {
    await this.#daemon?.kill()
  }

  async createAgent(): Promise<void> {
    const { wallet } = await this.#ok('/v1/wallet', { wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password })
    const { wallet_handle_token } = await this.#ok('/v1/wallet/init', { wallet_id: wallet.id, wallet_password })
    const { address } = await this.#ok('/v1/key', { wallet_handle_token })
    const network = this.#devnet.genesisHash
    const limit = { per: 'day', network, type: 'amount', asset_id: `${dollar}`, amount: `${dollarPerDay}` }
    const dollars = [{ network, id: `${dollar}` }]
    const rules = { networks: [network], limits: [limit], payees: { allow_all: true }, dollars }
    const grant = { name: 'shopper', wallet_id: wallet.id, wallet_password, addresses: [address], rules }
    this.#token = (await this.#ok('/latchkey/v1/agents', grant)).token
    this.#payer = address
    const assets = [{ assetId: dollar, amount: 10n ** 12n }]
    this.#devnet.fund(address, { microAlgos: 10_000_000n, assets })
    this.#devnet.fund(Address.encode(facilitator.publicKey), { microAlgos: 10n ** 12n })
    this.#devnet.fund(seller, { microAlgos: 10_000_000n })
    this.#devnet.optIn(seller, dollar)
  }

  /** Runs one life of the daemon, which ends in the middle of its work. */
  async spendUntilKilled(): Promise<void> {
    const repeats = [...this.#unanswered.values()]
    this.counts.repeats += repeats.length
    const queue = [...repeats, ...Array.from({ length: 2 * clients }, () => this.#authorization())]
    const killAt = 1 + Math.floor(Math.random() * queue.length)
    await sendUntilKilled({ queue, killAt, clients, send: (one) => this.#use(one), kill: () => this.kill() })
    this.checkLimit()
  }

  /** Everything that was charged, and everything that still can be, is within the limit. */
  checkLimit(): void {
    const sum = this.#sum(({ unsigned, charge }) => charge ?? unsigned.terms.maxAmount)
    assert.ok(sum <= dollarPerDay, `${sum} of ${dollarPerDay}`)
  }

  async sendUnanswered(): Promise<void> {
    await Promise.all([...this.#unanswered.values()].map((one) => this.#use(one)))
    assert.equal(this.#unanswered.size, 0)
  }

  /** The charges count, and the maximum of each authorization without one. */
  async waitForCharges(): Promise<void> {
    await this.#waitForUsed(this.#sum(({ unsigned, charge }) => charge ?? unsigned.terms.maxAmount))
  }

  /** Every authorization has expired, so that only the charges count. */
  async expireAll(): Promise<void> {
    await this.kill()
    this.#devnet.mine(1_020)
    await this.start()
    await this.#waitForUsed(this.#sum(({ charge }) => charge ?? 0n))
  }

  async spendRest(): Promise<void> {
    const left = dollarPerDay - this.#sum(({ charge }) => charge ?? 0n)
    assert.equal(await this.#ask(this.#authorization(left + 1n)), 'refused')
    assert.equal(await this.#ask(this.#authorization(left)), 'signed')
    assert.equal(await this.#ask(this.#authorization(1n)), 'refused')
  }

  #sum(amountOf: (one: Authorized) => bigint): bigint {
    return [...this.#signed.values()].reduce((sum, one) => sum + amountOf(one), 0n)
  }

  #authorization(amount = BigInt(1 + Math.floor(Math.random() * maxAmount))): UptoPayment.UnsignedAuthorization {
    return UptoPayment.buildAuthorization({
      payer: this.#payer,
      payTo: seller,
      assetId: dollar,
      maxAmount: amount,
      facilitator: Address.encode(facilitator.publicKey),
      genesisHash: Bytes.fromBase64(this.#devnet.genesisHash)!,
      lastRound: this.#devnet.round,
      isPublicNetwork: false,
      maxTimeoutSeconds: 60,
    })
  }

  /** Has an authorization signed, and charges most of those that are. */
  async #use(unsigned: UptoPayment.UnsignedAuthorization): Promise<void> {
    this.#unanswered.set(unsigned.id, unsigned)
    const answer = await this.#ask(unsigned)
    if (answer === 'cut off') this.counts.cutOff++
    else this.#unanswered.delete(unsigned.id)
    if (answer === 'refused') this.counts.refused++
  }

  async #ask(unsigned: UptoPayment.UnsignedAuthorization): Promise<'signed' | 'refused' | 'cut off'> {
    const { terms, nonce } = unsigned
    const body = {
      payer: terms.payer,
      pay_to: terms.payTo,
      asset_id: `${terms.assetId}`,
      max_amount: `${terms.maxAmount}`,
      facilitator: terms.facilitator,
      last_valid: `${terms.lastValid}`,
      network: this.#devnet.genesisHash,
      nonce: Bytes.toBase64(nonce),
    }
    const response = await this.#daemon!.call('POST', '/latchkey/v1/agent/upto', body, { token: this.#token }).catch(
      () => undefined,
    )
    if (response === undefined || response.status === 503) return 'cut off'
    if (response.status !== 200) {
      assert.match(response.text, /"code":"agent_limit_exceeded"/)
      return 'refused'
    }
    const signature = Bytes.fromBase64(response.json.signature)!
    const authorization = UptoPayment.read(UptoPayment.toPayload(unsigned, signature, this.#payer))
    const known = this.#signed.get(unsigned.id) ?? { unsigned, charge: undefined }
    this.#signed.set(unsigned.id, known)
    if (Math.random() < 0.7) await this.#charge(authorization, known)
    return 'signed'
  }

  /** Settles a part of the maximum, all or nothing, and sometimes tries to settle again. */
  async #charge(authorization: UptoPayment.Authorization, known: Authorized): Promise<void> {
    const { maxAmount: most } = authorization.terms
    const parts = [0n, 1n, most / 10n, most / 3n, most]
    const amount = parts[Math.floor(Math.random() * parts.length)]!
    const isAccepted = await this.#settle(authorization, amount)
    assert.equal(isAccepted, known.charge === undefined, 'an authorization is charged once')
    known.charge ??= amount
    this.counts.charged++
    if (Math.random() < 0.3) {
      this.counts.secondCharges++
      assert.equal(await this.#settle(authorization, most), false)
    }
  }

  async #settle(authorization: UptoPayment.Authorization, amount: bigint): Promise<boolean> {
    const { fee, transfer } = UptoPayment.buildTransfer(authorization, { amount, feeMicroAlgos: 2_000n })
    const sig = Ed25519.sign(Transaction.bytesToSign(fee.transactionBytes), facilitator.secretKey)
    const members = [Submission.encode({ txn: fee.signed.txn, sig }), Submission.encode(transfer.signed)]
    const { url, token } = this.#devnet
    const headers = { 'Content-Type': 'application/x-binary', 'X-Algo-API-Token': token ?? '' }
    const sent = { method: 'POST', headers, body: new Uint8Array(Bytes.concat(members)) }
    const response = await fetch(`${url}/v2/transactions`, sent)
    const text = await response.text()
    if (!response.ok) assert.match(text, /lease|already in ledger/)
    return response.ok
  }

  async #waitForUsed(expected: bigint): Promise<void> {
    const deadline = Date.now() + waitMs
    for (;;) {
      const { json } = await this.#daemon!.call('GET', '/latchkey/v1/agent', undefined, { token: this.#token })
      const used = BigInt(json.budget[0].used)
      assert.ok(used >= expected, `${used} counts of ${expected}`)
      if (used === expected) return
      assert.ok(Date.now() < deadline, `${used} still counts, not ${expected}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  async #ok(path: string, body: unknown) {
    const response = await this.#daemon!.call('POST', path, body)
    assert.equal(response.status, 200, response.text)
    return response.json
  }
}

async function open(t: TestContext): Promise<UptoRun> {
  const dir = makeDataDir()
  const run = new UptoRun(dir, await startDevnet(t))
  t.after(async () => {
    await run.kill()
    removeDataDir(dir)
  })
  await run.start()
  await run.createAgent()
  return run
}

test(`${kills} kills: a dollar a day holds over 50 parallel authorizations, and the rest is given back`, {
  timeout: 600_000 + kills * 60_000,
}, async (t) => {
  const run = await open(t)
  for (let life = 0; life < kills; life++) {
    if (life > 0) await run.start()
    // In some lives, the daemon sees charges of earlier ones before it is killed.
    if (life % 3 === 2) {
      await run.sendUnanswered()
      await run.waitForCharges()
    }
    await run.spendUntilKilled()
  }
  await run.start()
  await run.sendUnanswered()
  run.checkLimit()
  await run.waitForCharges()
  await run.expireAll()
  await run.spendRest()
  const { cutOff, refused, repeats, charged, secondCharges } = run.counts
  assert.ok(refused > 0, 'the limit was never reached')
  t.diagnostic(
    `${kills} kills: ${run.signatures} signatures, ${charged} charged, ${refused} refusals, ${cutOff} cut off, ${repeats} sent again, ${secondCharges} second charges`,
  )
})
