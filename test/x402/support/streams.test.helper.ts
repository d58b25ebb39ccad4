/** Buys streamed responses, and leaves in the middle of them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ClaimStore, MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { type CutAnswer, sendTo } from './cutClient.test.helper.js'
import { type Market, type requiredOf, until } from './market.test.helper.js'
import type { PlainShop, Work } from './plainShops.test.helper.js'

const limitMs = 60_000

/** The claim stores under test. */
export const stores: { name: string; open: (t: TestContext) => ClaimStore }[] = [
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

export type Buying = {
  first: (cutAfterBytes?: number) => Promise<CutAnswer>
  /** Leaves after this many bytes; resolves when the server has noticed. */
  cut: (bytes: number) => Promise<CutAnswer>
  again: () => Promise<CutAnswer>
}

export type StreamShop = {
  readonly market: Market
  readonly seller: PlainShop
  readonly claims: ClaimStore
  readonly work: Work
}

/** Opens a shop that streams responses paid for first. Returns a function that makes a payment without sending it. */
export async function openStreams(t: TestContext, { market, seller, claims, work }: StreamShop) {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller, paymentFlow: 'upfront' } as const
  const gate = await market.gate({ routes: { '/answer': { accepts } }, claims })
  const { url, isIdle, close } = await seller.open(gate, work)
  t.after(close)
  return async (method: string, query = ''): Promise<Buying> => {
    const target = `${url}/answer${query}`
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
    return { first: (cutAfterBytes) => send(header, cutAfterBytes), cut, again }
  }
}
