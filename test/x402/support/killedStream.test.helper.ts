/** Streams that are charged by usage, whose gate is killed. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Accept, type ClaimStore, MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { authorizationFor } from './authorizations.test.helper.js'
import { type Market, repeated, until } from './market.test.helper.js'
import { type Handler, openShop } from './uptoShop.test.helper.js'

export type OpenStore = (t: TestContext) => ClaimStore

/** The stores of one machine. */
export function usageStores(prefix: string): { readonly [name: string]: OpenStore } {
  return {
    memory: () => new MemoryClaims(),
    SQLite: (t) => {
      const directory = mkdtempSync(join(tmpdir(), prefix))
      const claims = new SqliteClaims(join(directory, 'claims.sqlite'))
      t.after(() => {
        claims.close()
        rmSync(directory, { recursive: true })
      })
      return claims
    },
  }
}

/** An object whose functions, and those of its members, are called by `call`. */
export function through<T extends object>(
  target: T,
  call: (name: string, work: () => unknown, args: unknown[]) => unknown,
): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value === 'function') {
        return (...args: unknown[]) => call(String(name), () => Reflect.apply(value, target, args), args)
      }
      return typeof value === 'object' && value !== null ? through(value, call) : value
    },
  })
}

const never = new Promise<never>(() => {})

/** A store and a facilitator for a gate that can be killed: after that, none of its calls has an effect. */
export function mortal(market: Market, claims: ClaimStore) {
  let isKilled = false
  const call = (_: string, work: () => unknown): unknown => (isKilled ? never : work())
  const kill = (): void => {
    isKilled = true
  }
  return { claims: through(claims, call), facilitators: through(market.local, call), kill }
}

/** The store as it is some minutes later. */
export function later(claims: ClaimStore, ms: number): ClaimStore {
  return through(claims, (name, work, args) => {
    if (name === 'takeAbandoned') args[2] = (args[2] as number) + ms
    if (name === 'claim') args[1] = { ...(args[1] as object), nowMs: Date.now() + ms }
    return work()
  })
}

/** A stream that uses ten cents and stays open. */
const waiting =
  (onRun: () => void): Handler =>
  (_, response, payment) => {
    onRun()
    payment.charge!('$0.1')
    response.write('the first part')
  }

/** A stream whose gate is killed after the charge was stored. */
export async function killed(market: Market, t: TestContext, claims: ClaimStore, account: number) {
  const { kill, ...parts } = mortal(market, claims)
  let runs = 0
  const handler = waiting(() => void runs++)
  const shop = await openShop(market, t, handler, { ...parts, price: { stream: true } })
  const header = await authorizationFor(market, await fetch(shop.url), { rounds: 900n, account })
  const response = await repeated(shop.url, header)
  const { value } = await response.body!.getReader().read()
  assert.equal(Buffer.from(value!).toString(), 'the first part')
  const { transactionId } = (await claims.sales!.list({ limit: 1 })).sales[0]!
  await until(async () => (await claims.usage!.chargeOf(transactionId)) === 100_000n)
  kill()
  /** Opens another gate of the same seller. */
  const replica = (more: Parameters<typeof openShop>[3]) => {
    const accepts: Accept = { price: { upTo: '$0.50', stream: true }, payTo: shop.seller }
    return openShop(market, t, handler, { routes: { '/model': { accepts } }, ...more })
  }
  return { ...shop, header, transactionId, replica, runs: () => runs }
}
