/** Work that is paid after it is done is bounded before it begins, and who leaves it unpaid gets no more. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Address } from '@latchkey/algorand'
import { Signer } from '@latchkey/x402/client'
import { type ClaimStore, type FacilitatorClient, MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { authorizationFor } from '../support/authorizations.test.helper.js'
import { altered, dollar, headerJson, openMarket, repeated, until } from '../support/market.test.helper.js'
import { charging, type Handler, openShop } from '../support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })

/** Two views of the same claims, as two replicas have them. */
type Stores = { readonly [name: string]: (t: TestContext) => readonly [ClaimStore, ClaimStore] }
const stores: Stores = {
  memory: () => {
    const claims = new MemoryClaims()
    return [claims, claims]
  },
  SQLite: (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'upto-unpaid-'))
    const path = join(directory, 'claims.sqlite')
    const claims = [new SqliteClaims(path), new SqliteClaims(path)] as const
    t.after(() => {
      for (const one of claims) one.close()
      rmSync(directory, { recursive: true })
    })
    return claims
  },
}

/** An account of its own. */
function newAccount(): Signer.Signer {
  return Signer.fromSeed(randomBytes(32))
}

const errorOf = (response: Response): unknown => headerJson(response, 'payment-required')['error']

test('an authorization that does not cover the longest work is refused before the handler runs', {
  timeout,
}, async (t) => {
  for (const stream of [false, true]) {
    let runs = 0
    const { url } = await openShop(market, t, (_, response) => response.end(`${++runs}`), { price: { stream } })
    for (const rounds of [4n, 60n, 143n]) {
      const header = await authorizationFor(market, await fetch(url), { rounds })
      const refused = await repeated(url, header)
      assert.deepEqual([refused.status, errorOf(refused)], [402, 'upto_validity_too_short'], `${rounds}`)
    }
    assert.equal(runs, 0)
    const header = await authorizationFor(market, await fetch(url), { rounds: 150n })
    assert.equal((await repeated(url, header)).status, 200)
  }
})

for (const [name, openStores] of Object.entries(stores)) {
  test(`${name}: a smaller charge than the gate asked for counts as unpaid`, { timeout }, async (t) => {
    for (const [amount, account] of [['0', 0] as const, ['1', 1] as const]) {
      const [own, other] = openStores(t)
      // Another party had a smaller amount recorded first.
      const settle: FacilitatorClient['settle'] = (payload, requirements, options) =>
        market.local.settle(payload, { ...requirements, amount }, options)
      const handler = charging('$0.1')
      const first = await openShop(market, t, handler, { claims: own, facilitators: altered(market.local, { settle }) })
      const second = await openShop(market, t, handler, { claims: other })
      const paid = await authorizationFor(market, await fetch(first.url), { rounds: 900n, account })
      const response = await repeated(first.url, paid)
      assert.equal(response.status, 402)
      assert.ok(!(await response.text()).includes('done'))
      assert.equal(await first.received(), BigInt(amount))
      const header = await authorizationFor(market, await fetch(second.url), { rounds: 900n, account })
      assert.equal(errorOf(await repeated(second.url, header)), 'payer_left_unpaid')
    }
  })
}

/** Streams without an end, and charges a cent for each piece. */
const endless: Handler = async (_, response, payment) => {
  for (let count = 1; !response.destroyed && count < 49; count++) {
    payment.charge!(`$0.${String(count).padStart(2, '0')}`)
    response.write(`piece ${count};`)
    await sleep(100)
  }
  // Keeps the response open without a further piece.
}

/** Reads until the connection breaks. Fails for a response that ends in order. */
async function readUntilCut(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  await assert.rejects(async () => {
    for await (const piece of response.body!) text += decoder.decode(piece, { stream: true })
  })
  return text
}

test('a stream is cut when its time is up, and charged for what was used until then', { timeout }, async (t) => {
  const { url, received } = await openShop(market, t, endless, { price: { stream: true }, maxTimeoutSeconds: 1 })
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  const text = await readUntilCut(await repeated(url, header))
  assert.match(text, /piece 1;/)
  await until(async () => (await received()) > 0n)
  assert.equal(await received(), BigInt(text.split(';').length - 1) * 10_000n, 'nothing is sent after the cut')
  assert.equal((await repeated(url, header)).status, 402, 'the payment is used up')
})

test('a stream is cut before its last valid round, however fast rounds pass', { timeout }, async (t) => {
  const { url, received } = await openShop(market, t, endless, { price: { stream: true } })
  const header = await authorizationFor(market, await fetch(url), { rounds: 200n })
  const reading = readUntilCut(await repeated(url, header))
  for (let blocks = 0; blocks < 180; blocks++) market.devnet.mine()
  assert.match(await reading, /piece 1;/)
  await until(async () => (await received()) > 0n)
})

/** Sends all dollars of an account to another one. */
async function spendAll(signer: Signer.Signer, receiver: string): Promise<void> {
  const { lastRound, genesisHash } = await market.chain.algod.parameters()
  const [snd, arcv] = [Address.decode(signer.address), Address.decode(receiver)]
  const amount = await market.dollars(signer.address)
  const rounds = { fv: lastRound, lv: lastRound + 1_000n, gh: genesisHash, fee: 1_000n }
  const transfer = { type: 'axfer', snd, arcv, xaid: dollar, aamt: amount, ...rounds } as const
  const signed = await Signer.signTransaction(signer, transfer)
  assert.equal((await market.chain.algod.submit([signed])).type, 'accepted')
  await until(async () => (await market.dollars(signer.address)) === 0n)
}

test('parallel streams of one account use at most its balance, and end with the first that is not paid', {
  timeout,
}, async (t) => {
  const claims = new MemoryClaims()
  let running = 0
  const endings: (() => void)[] = []
  const handler: Handler = (_, response, payment) => {
    running++
    payment.charge!('$0.5')
    response.write('a part')
    endings.push(() => response.end())
  }
  const { url, received, seller } = await openShop(market, t, handler, { claims, price: { stream: true } })
  const account = newAccount()
  market.devnet.fund(account.address, { microAlgos: 1_000_000n, microDollars: 1_200_000n })
  const start = async (): Promise<Response> => {
    const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
    return repeated(url, header)
  }
  const responses = await Promise.all(Array.from({ length: 6 }, start))
  const open = responses.filter(({ status }) => status === 200)
  assert.deepEqual([open.length, running], [2, 2], 'the balance covers two maxima')
  await spendAll(account, seller)
  const before = await received()
  const readings = open.map((response) => response.text().catch(() => 'cut'))
  endings[0]!()
  const texts = await Promise.all(readings)
  assert.deepEqual(texts.sort(), ['a part', 'cut'], 'the other stream is cut although its handler runs')
  await until(() => claims.usage.takeAbandoned(10, 1, Date.now() + 1_000_000).length === 0)
  market.devnet.fund(account.address, { microDollars: 5_000_000n })
  const refused = await start()
  assert.deepEqual([refused.status, errorOf(refused), running], [402, 'payer_left_unpaid', 2])
  assert.equal(await received(), before)
})

test('a stream is cut when its payer spends what it has authorized, although the handler runs', {
  timeout,
}, async (t) => {
  const claims = new MemoryClaims()
  const handler: Handler = (_, response, payment) => {
    payment.charge!('$0.5')
    response.write('a part')
  }
  const { url, seller } = await openShop(market, t, handler, { claims, price: { stream: true } })
  const account = newAccount()
  market.devnet.fund(account.address, { microAlgos: 1_000_000n, microDollars: 500_000n })
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
  const response = await repeated(url, header)
  assert.equal(response.status, 200)
  await spendAll(account, seller)
  assert.equal(await readUntilCut(response), 'a part')
  await until(() => claims.usage.isUnpaid(account.address, Date.now()))
})

test('after many unpaid streams, responses are charged before they are sent', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const warnings: string[] = []
  let onRun = (): unknown => undefined
  const handler: Handler = async (_, response, payment) => {
    payment.charge!('$0.2')
    response.write('a ')
    await onRun()
    response.end('part')
  }
  const options = { claims, maxUnpaidStreams: 3, onWarning: (text: string) => warnings.push(text) }
  const { url, seller, received } = await openShop(market, t, handler, { ...options, price: { stream: true } })
  const payOnce = async (signer?: Signer.Signer): Promise<Response> =>
    repeated(url, await authorizationFor(market, await fetch(url), { rounds: 900n, signer }))
  const leave = (payer: string): void =>
    claims.usage.leaveUnpaid({ transactionId: `of ${payer}`, payer, refuseMs: 60_000 }, Date.now())
  for (const payer of ['a', 'b']) leave(payer)
  const streamed = await payOnce()
  assert.deepEqual([streamed.headers.has('payment-response'), await streamed.text()], [false, 'a part'])
  await until(async () => (await received()) === 200_000n)
  leave('c')
  for (let time = 0; time < 2; time++) {
    const buffered = await payOnce()
    assert.ok(headerJson(buffered, 'payment-response')['success'])
    assert.equal(await buffered.text(), 'a part')
  }
  assert.equal(await received(), 600_000n)
  assert.equal(warnings.filter((text) => text.includes('maxUnpaidStreams')).length, 1)
  const account = newAccount()
  market.devnet.fund(account.address, { microAlgos: 1_000_000n, microDollars: 500_000n })
  onRun = () => spendAll(account, seller)
  const refused = await payOnce(account)
  assert.equal(refused.status, 402)
  assert.ok(!(await refused.text()).includes('part'))
})

test('the number of unpaid accounts is checked when the gate opens', async (t) => {
  for (const maxUnpaidStreams of [-1, 1.5, 1_001, Number.NaN, '3' as never]) {
    await assert.rejects(openShop(market, t, charging('$0.1'), { maxUnpaidStreams }), { code: 'invalid_gate_option' })
  }
})
