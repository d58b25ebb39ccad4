/**
 * Runs a replica of a shop in a separate process. The replica reports its address and counts how often its handler ran.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Chain } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/node'
import { PostgresClaims } from '@latchkey/x402/postgres'
import { RedisClaims } from '@latchkey/x402/redis'
import { type ClaimStore, Gate, httpFacilitator } from '@latchkey/x402/server'

export type ShopSettings = {
  /** `postgres://` or `redis://`. */
  readonly claims: string
  readonly node: string
  readonly dollar: string
  readonly facilitator: string
  readonly seller: string
  /** Whether it is killed as soon as an answer is held, before it is settled, or settled, before it is sent. */
  readonly isKilled: boolean | 'settled'
}

const settings = JSON.parse(process.argv[2]!) as ShopSettings
const chain = await Chain.open({ network: 'local', nodes: settings.node, dollarAssetId: BigInt(settings.dollar) })
const claims: ClaimStore = settings.claims.startsWith('redis:')
  ? await RedisClaims.open({ address: settings.claims })
  : await PostgresClaims.open({ address: settings.claims })
const { hold } = claims
if (settings.isKilled === true) {
  Object.assign(claims, {
    hold: async (...args: Parameters<typeof hold>) => {
      await hold.apply(claims, args)
      process.kill(process.pid, 'SIGKILL')
    },
  })
}
const client = httpFacilitator({ url: settings.facilitator, isTrusted: true })
const settle: typeof client.settle = async (...args) => {
  const result = await client.settle(...args)
  if (settings.isKilled === 'settled') process.kill(process.pid, 'SIGKILL')
  return result
}
const accepts = { network: chain.caip2, payTo: settings.seller, price: '$0.01' }
const gate = await Gate.open({
  routes: { 'GET /report': { accepts, paymentIdentifier: 'optional' } },
  facilitators: { ...client, settle },
  claims,
  chains: chain,
  onError: (error) => console.error(error),
})
const server = createServer(
  paymentGate(gate, (_, response) => {
    process.send!({ type: 'handled' })
    response.writeHead(200, { 'X-Pid': String(process.pid) }).end(randomUUID())
  }),
)
server.listen(0, '127.0.0.1', () => {
  process.send!({ type: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
