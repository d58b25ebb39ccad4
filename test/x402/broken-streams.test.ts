/**
 * Tests streamed responses that were paid for first and break off: the payment gets the complete response with the next
 * request, or the handler runs again. No payment is used up for a partial response.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MemoryClaims } from '@latchkey/x402/server'
import { openMarket } from './support/market.test.helper.js'
import { plainShops, type Work } from './support/plainShops.test.helper.js'
import { openStreams, stores } from './support/streams.test.helper.js'

const timeout = 120_000
const cent = 10_000n
const market = await openMarket({ after })

for (const seller of plainShops) {
  for (const { name, open } of stores) {
    for (const method of ['GET', 'POST']) {
      const title = `${seller.name}, ${method}, ${name}`

      test(`${title}: a handler that fails midway runs again for the same payment`, { timeout }, async (t) => {
        let runs = 0
        const buy = await openStreams(t, {
          market,
          seller,
          claims: open(t),
          work: () => {
            const isBroken = ++runs <= 2
            return { body: pieces(['first,', 'second'], () => fails(isBroken)) }
          },
        })
        const { first, again } = await buy(method)
        const before = await market.dollars()
        assert.equal((await first()).isWhole, false)
        assert.equal((await again()).isWhole, false)
        assert.deepEqual(await again(), { status: 200, body: 'first,second', isWhole: true })
        assert.equal(runs, 3)
        // The complete response has arrived, so it is sent again rather than made again.
        assert.deepEqual(await again(), { status: 200, body: 'first,second', isWhole: true })
        assert.equal(runs, 3)
        assert.equal((await market.dollars()) - before, cent)
      })

      test(`${title}: a response whose client left continues to its end, and is sent again`, { timeout }, async (t) => {
        let runs = 0
        const gone = signal()
        const buy = await openStreams(t, {
          market,
          seller,
          claims: open(t),
          work: () => {
            runs++
            return { body: pieces(['first,', 'second,', 'third'], () => gone.promise) }
          },
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

      test(`${title}: a response that is too long to hold is made again`, { timeout }, async (t) => {
        let runs = 0
        const gone = signal()
        t.after(() => gone.resolve())
        const half = 'x'.repeat(1024 * 1024)
        const buy = await openStreams(t, {
          market,
          seller,
          claims: open(t),
          work: () => {
            const isFirst = ++runs === 1
            return { body: pieces([half, half], () => (isFirst ? gone.promise : undefined)) }
          },
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

for (const seller of plainShops) {
  test(`${seller.name}: a handler that fails after its client has left runs again`, { timeout }, async (t) => {
    let runs = 0
    const gone = signal()
    const work: Work = () => {
      const isBroken = ++runs === 1
      return { body: pieces(['first,', 'second'], () => gone.promise.then(() => fails(isBroken))) }
    }
    const buy = await openStreams(t, { market, seller, claims: new MemoryClaims(), work })
    const { cut, again } = await buy('GET')
    await cut(1)
    gone.resolve()
    assert.deepEqual(await again(), { status: 200, body: 'first,second', isWhole: true })
    assert.equal(runs, 2)
  })

  test(`${seller.name}: a handler that stops when its client leaves makes its complete response`, {
    timeout,
  }, async (t) => {
    let runs = 0
    const gone = signal()
    const work: Work = ({ onLeave }) => {
      runs++
      let isLeft = false
      onLeave(() => {
        isLeft = true
      })
      async function* untilLeft(): AsyncGenerator<string> {
        for await (const piece of pieces(['first,', 'second,', 'third'], () => gone.promise)) {
          if (isLeft) return
          yield piece
        }
      }
      return { body: untilLeft() }
    }
    const buy = await openStreams(t, { market, seller, claims: new MemoryClaims(), work })
    const { cut, again } = await buy('GET')
    await cut(1)
    gone.resolve()
    assert.deepEqual(await again(), { status: 200, body: 'first,second,third', isWhole: true })
    assert.equal(runs, 1)
  })
}

/** Yields the pieces of a response, with `wait` between the first and the others. */
async function* pieces(list: readonly string[], wait: () => Promise<void> | undefined): AsyncGenerator<string> {
  for (const [index, piece] of list.entries()) {
    if (index === 1) await wait()
    yield piece
  }
}

/** Fails once the preceding part was written. */
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
