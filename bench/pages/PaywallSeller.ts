/**
 * Starts a MainNet seller from any checkout, whose page offers all wallets. No payment is settled, because only the
 * page is measured.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Network } from '@latchkey/algorand'
import type * as Adapter from '@latchkey/x402/node'
import type * as Server from '@latchkey/x402/server'
import { loadEntry } from '../support/checkout.js'

const round = 50_000_000
/** A valid address for the page to show. */
const payTo = 'Y76M3MSY6DKBRHBL7C3NNDXGS5IIMQVQVUAB6MP4XEMMGVF2QWNPL226CA'

/** Simulates a node with the parameters of MainNet, where every account holds the dollar asset. */
async function node(url: string): Promise<Response> {
  const { genesisHash, genesisId } = Network.mainnet
  const network = { 'genesis-hash': genesisHash, 'genesis-id': genesisId, 'consensus-version': 'x' }
  if (url.endsWith('/v2/transactions/params'))
    return Response.json({ ...network, fee: 0, 'last-round': round, 'min-fee': 1_000 })
  if (url.endsWith('/v2/status')) return Response.json({ 'last-round': round })
  if (!/\/assets\/\d+$/.test(url)) return Response.json({ message: 'not found' }, { status: 404 })
  return Response.json({ 'asset-holding': { amount: 0, 'asset-id': 31566704, 'is-frozen': false } })
}

const facilitator = {
  name: 'none',
  isTrusted: true,
  supported: async () => ({
    kinds: [{ x402Version: 2, scheme: 'exact', network: Network.mainnet.caip2, extra: { feePayer: payTo } }],
    extensions: [],
    signers: {},
  }),
  verify: () => Promise.reject(new Error('not measured')),
  settle: () => Promise.reject(new Error('not measured')),
} as unknown as Server.FacilitatorClient

/** Starts the seller's page of a built checkout. */
export async function startSeller(checkout: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const { Chain, Gate } = await loadEntry<typeof Server>(checkout, '@latchkey/x402/server')
  const { paymentGate } = await loadEntry<typeof Adapter>(checkout, '@latchkey/x402/node')
  const chain = await Chain.open({ network: 'mainnet', fetch: node as never })
  const accepts = { network: 'mainnet', price: '$0.25', payTo }
  const routes = { 'GET /weather': { accepts, description: 'The weather, now' } }
  const gate = await Gate.open({ routes, chains: chain, facilitators: facilitator })
  const server = createServer(paymentGate(gate, (_, response) => void response.end('sunny')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`, stop }
}
