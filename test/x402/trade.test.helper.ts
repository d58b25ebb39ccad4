/** Sets up a devnet with the id of TestNet, which the published packages know, and the accounts of a payment. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { Devnet } from '@latchkey/devnet'
import type { PublishedFacilitator } from '@latchkey/published'
import { Chain } from '@latchkey/x402/client'
import * as algosdk from 'algosdk'
import { clientOf, startDevnet } from '../devnet/start.test.helper.js'

export const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
export const dollar = 10458941n
export const price = '$0.01'
export const cent = 10_000n

export type Trade = {
  devnet: Devnet
  chain: Chain
  algod: algosdk.Algodv2
  /** Has a dollar and no spare Algos. */
  buyer: algosdk.Account
  /** Can receive dollars. */
  seller: algosdk.Account
  /** Has an Algo for fees. */
  sponsor: algosdk.Account
}

/** By default the devnet only uses the name of TestNet; with its genesis hash, clients treat it as TestNet. */
export async function openTrade(t: TestContext, { genesisHash }: { genesisHash?: string } = {}): Promise<Trade> {
  const devnet = await startDevnet(t, { genesisHash })
  const chain = await Chain.open({ network: 'testnet', nodes: devnet.url, genesisHash: devnet.genesisHash })
  const [buyer, seller, sponsor] = [algosdk.generateAccount(), algosdk.generateAccount(), algosdk.generateAccount()]
  devnet.fund(String(buyer.addr), { microDollars: 1_000_000n })
  devnet.optIn(String(seller.addr), dollar)
  devnet.fund(String(sponsor.addr), { microAlgos: 1_000_000n })
  return { devnet, chain, algod: clientOf(devnet), buyer, seller, sponsor }
}

export function keyOf({ sk }: algosdk.Account): string {
  return Buffer.from(sk).toString('base64')
}

type Traders = Pick<Trade, 'algod' | 'buyer' | 'seller' | 'sponsor'>

/** Returns the balances of all accounts: ALGOs and dollars, in millionths. */
export async function possessions({ algod, buyer, seller, sponsor }: Traders, assetId = dollar) {
  const one = async ({ addr }: algosdk.Account): Promise<[bigint, bigint | undefined]> => {
    const { amount, assets } = await algod.accountInformation(addr).do()
    return [amount, assets?.find((asset) => asset.assetId === assetId)?.amount]
  }
  return { buyer: await one(buyer), seller: await one(seller), sponsor: await one(sponsor) }
}

/** Serves a facilitator as sellers expect it. */
export function facilitatorApi(facilitator: PublishedFacilitator): RequestListener {
  type PaymentBody = { paymentPayload: never; paymentRequirements: never }
  return async (request, response) => {
    const body = request.method === 'POST' ? ((await json(request)) as PaymentBody) : undefined
    const judge = request.url === '/verify' ? 'verify' : 'settle'
    const result =
      body === undefined
        ? facilitator.getSupported()
        : await facilitator[judge](body.paymentPayload, body.paymentRequirements)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(result))
  }
}

/** Serves requests without a body with a web-standard application. */
export function asListener(app: { fetch: (request: Request) => Response | Promise<Response> }): RequestListener {
  return async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
    const result = await app.fetch(new Request(`http://${request.headers.host}${request.url}`, { headers }))
    response.writeHead(result.status, Object.fromEntries(result.headers)).end(await result.text())
  }
}

/** Returns the URL of a server that is stopped after the test. */
export async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
