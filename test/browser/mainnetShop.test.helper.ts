/**
 * Sets up a seller on a simulated MainNet, whose page offers every wallet. Payments are verified by a stub and not
 * settled.
 */
import { after } from 'node:test'
import { Network } from '@latchkey/algorand'
import { paymentGate } from '@latchkey/x402/node'
import { Chain, type FacilitatorClient, Gate } from '@latchkey/x402/server'
import algosdk from 'algosdk'
import { atEndOfProcess } from '../support/batch.test.helper.js'
import { listen } from '../x402/support/shops.test.helper.js'
import { launch } from './chromium.test.helper.js'
import { type Visit, visit } from './paywall.test.helper.js'

const browser = await launch({ after })
export const buyer = algosdk.generateAccount()
export const [seller, feePayer] = [algosdk.generateAccount(), algosdk.generateAccount()].map(({ addr }) =>
  addr.toString(),
)
export const round = 50_000_000

/** Simulates a node with the parameters of MainNet and no transactions. */
const node = async (url: string): Promise<Response> => {
  if (url.endsWith('/v2/transactions/params')) {
    const { genesisHash, genesisId } = Network.mainnet
    const network = { 'genesis-hash': genesisHash, 'genesis-id': genesisId, 'consensus-version': 'x' }
    return Response.json({ ...network, fee: 0, 'last-round': round, 'min-fee': 1_000 })
  }
  if (url.endsWith('/v2/status')) return Response.json({ 'last-round': round })
  if (/\/assets\/31566704$/.test(url)) {
    return Response.json({ 'asset-holding': { amount: 0, 'asset-id': 31566704, 'is-frozen': false } })
  }
  return Response.json({ message: 'not found' }, { status: 404 })
}

/** The groups of the verified payments, in base64. */
export const verified: string[][] = []
const facilitator: FacilitatorClient = {
  name: 'stub',
  isTrusted: true,
  supported: async () => ({
    kinds: [{ x402Version: 2, scheme: 'exact', network: Network.mainnet.caip2 as never, extra: { feePayer } }],
    extensions: [],
    signers: {},
  }),
  verify: async ({ payload }) => {
    verified.push((payload as { paymentGroup: string[] }).paymentGroup)
    return { isValid: true, payer: buyer.addr.toString() }
  },
  settle: async (_, { network }) => ({ success: true, transaction: 'x', network, payer: buyer.addr.toString() }),
}

const chain = await Chain.open({ network: 'mainnet', fetch: node as never })
const accepts = { network: 'mainnet', price: '$0.25', payTo: seller!, maxTimeoutSeconds: 60 }
const routes = { 'GET /weather': { accepts, description: 'The weather, now' } }
const paywall = { kmd: { url: 'http://127.0.0.1:4002', token: 'example-daemon-token' } }
const gate = await Gate.open({ routes, chains: chain, facilitators: facilitator, paywall })
const shop = await listen(paymentGate(gate, (_, response) => response.end('sunny')))
atEndOfProcess(shop.close)

/** Opens the page. `before` runs first and may answer for other hosts; by default none is reachable. */
export async function openShop(before: (page: Visit['page']) => Promise<void> = async () => {}): Promise<Visit> {
  const prepare = async (page: Visit['page']): Promise<void> => {
    await page.route(/^https:/, (route) => route.abort('failed'))
    await page.routeWebSocket(/^wss:/, (socket) => socket.close())
    await before(page)
  }
  return visit(browser, `${shop.url}/weather`, { before: prepare })
}

/** Signs a transaction in base64 with the buyer's key. */
export function signed(text: string): string {
  const txn = algosdk.decodeUnsignedTransaction(Buffer.from(text, 'base64'))
  return Buffer.from(txn.signTxn(buyer.sk)).toString('base64')
}
