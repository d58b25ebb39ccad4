/**
 * A response that streams, was paid for first and breaks off: its payment gets all of it with the next request, or has it made
 * again. None is used up for a part.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { type ClaimStore, MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { type CutAnswer, sendTo } from './support/cutClient.test.helper.js'
import { openMarket, type requiredOf, until } from './support/market.test.helper.js'
import { type PlainShop, plainShops, type Work } from './support/plainShops.test.helper.js'

const timeout = 120_000
const limitMs = 60_000
const cent = 10_000n
const market = await openMarket({ after })
const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller, paymentFlow: 'upfront' } as const

const stores: { name: string; open: (t: TestContext) => ClaimStore }[] = [
  { name: 'claims in memory', open: () => new MemoryClaims() },
  {
    name: 'claims in SQLite',
    open: (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'latchkey-streams-'))
      const claims = new SqliteClaims(join(directory, 'claims.db'))
      t.after(() => {
        claims.close()
        rmSync(directory, { recursive: true })
      })
      return claims
    },
  },
]

type Buying = {
  first: () => Promise<CutAnswer>
  /** Leaves after so many bytes; done when the server has noticed. */
  cut: (bytes: number) => Promise<CutAnswer>
  again: () => Promise<CutAnswer>
}

/** A shop that streams, and a payment that was not sent yet. */
async function openShop(t: TestContext, seller: PlainShop, claims: ClaimStore, work: Work) {
  const gate = await market.gate({ routes: { '/answer': { accepts } }, claims })
  const { url, isIdle, close } = await seller.open(gate, work)
  t.after(close)
  return async (method: string): Promise<Buying> => {
    const target = `${url}/answer`
    const send = (header?: string, cutAfterBytes?: number): Promise<CutAnswer> => {
      const headers: { [name: string]: string } = header === undefined ? {} : { 'PAYMENT-SIGNATURE': header }
      return sendTo(seller.protocol, target, { method, headers, cutAfterBytes })
    }
    const unpaid = await send()
    assert.equal(unpaid.status, 402)
    const required = JSON.parse(unpaid.body) as Awaited<ReturnType<typeof requiredOf>>
    const { header, repeatHeader } = await market.newBuyer().pay(required as never)
    const again = async (): Promise<CutAnswer> => {
      const endMs = performance.now() + limitMs
      for (;;) {
        const answer = await send(repeatHeader)
        if (answer.status !== 503 || performance.now() > endMs) return answer
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const cut = async (bytes: number): Promise<CutAnswer> => {
      const answer = await send(header, bytes)
      await until(isIdle)
      return answer
    }
    return { first: () => send(header), cut, again }
  }
}

for (const seller of plainShops) {
  for (const { name, open } of stores) {
    for (const method of ['GET', 'POST']) {
      const title = `${seller.name}, ${method}, ${name}`

      test(`${title}: a handler that fails in the middle runs again for the same payment`, { timeout }, async (t) => {
        let runs = 0
        const buy = await openShop(t, seller, open(t), () => {
          const isBroken = ++runs <= 2
          return { body: pieces(['first,', 'second'], () => fails(isBroken)) }
        })
        const { first, again } = await buy(method)
        const before = await market.dollars()
        assert.equal((await first()).isWhole, false)
        assert.equal((await again()).isWhole, false)
        assert.deepEqual(await again(), { status: 200, body: 'first,second', isWhole: true })
        assert.equal(runs, 3)
        // All of it has arrived: it is sent again, and not made again.
        assert.deepEqual(await again(), { status: 200, body: 'first,second', isWhole: true })
        assert.equal(runs, 3)
        assert.equal((await market.dollars()) - before, cent)
      })

      test(`${title}: a response whose client left goes on to its end, and is sent again`, { timeout }, async (t) => {
        let runs = 0
        const gone = signal()
        const buy = await openShop(t, seller, open(t), () => {
          runs++
          return { body: pieces(['first,', 'second,', 'third'], () => gone.promise) }
        })
        const { cut, again } = await buy(method)
        const before = await market.dollars()
        const part = await cut(1)
        assert.deepEqual([part.status, part.isWhole], [200, false])
        gone.resolve()
        for (let time = 0; time < 2; time++) {
          assert.deepEqual(await again(), { status: 200, body: 'first,second,third', isWhole: true })
        }
        assert.equal(runs, 1)
        assert.equal((await market.dollars()) - before, cent)
      })

      test(`${title}: a response that is too long to be held is made again`, { timeout }, async (t) => {
        let runs = 0
        const gone = signal()
        t.after(() => gone.resolve())
        const half = 'x'.repeat(1024 * 1024)
        const buy = await openShop(t, seller, open(t), () => {
          const isFirst = ++runs === 1
          return { body: pieces([half, half], () => (isFirst ? gone.promise : undefined)) }
        })
        const { cut, again } = await buy(method)
        const before = await market.dollars()
        const part = await cut(half.length / 2)
        assert.deepEqual([part.status, part.isWhole], [200, false])
        gone.resolve()
        const { status, body, isWhole } = await again()
        assert.deepEqual([status, body.length, isWhole], [200, half.length * 2, true])
        assert.equal(runs, 2)
        assert.equal((await market.dollars()) - before, cent)
      })
    }
  }
}

/** The pieces of a response, with `wait` between the first and the others. */
async function* pieces(list: readonly string[], wait: () => Promise<void> | undefined): AsyncGenerator<string> {
  for (const [index, piece] of list.entries()) {
    if (index === 1) await wait()
    yield piece
  }
}

/** Fails once the part before it was written. */
async function fails(isBroken: boolean): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20))
  if (isBroken) throw new Error('the handler is broken')
}

function signal(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
