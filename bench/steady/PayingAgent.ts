/**
 * Runs a buyer that pays through an agent of a key daemon, with the seller, facilitator and devnet that the buyer
 * needs.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Algod } from '@latchkey/algod'
import { Server } from '@latchkey/http'
import { Kmd } from '@latchkey/kmd-client'
import { Buyer, Chain, fromAgent, payingFetch } from '@latchkey/x402/client'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { paymentGate } from '@latchkey/x402/node'
import { Gate, httpFacilitator } from '@latchkey/x402/server'
import { DevnetProcess, type Facts } from '../devnet/Process.js'
import { Daemon } from '../support/Daemon.js'
import * as DataDirectory from '../support/DataDirectory.js'
import { Market, priceMicroDollars } from '../x402/Market.js'

const program = fileURLToPath(new URL('../../../node_modules/.bin/kmd', import.meta.url))
const password = 'secret'
/** A machine busy with other work responds late, which is not a connection failure. */
const timeoutMs = 300_000

export type PayingAgent = {
  /** Pays for one request. Rejects if the request fails. */
  readonly buy: () => Promise<void>
  /** The amount that the daemon counts as spent, in base units of the asset. */
  readonly spent: () => Promise<bigint>
  readonly stop: () => Promise<void>
}

/** Starts everything on this machine; the daemon and the devnet run in separate processes. */
export async function startPayingAgent(directory: string): Promise<PayingAgent> {
  const devnet = await DevnetProcess.start(['--log-level', 'warning'])
  const market = await Market.open(devnet.facts, join(directory, 'facilitator.db'))
  const dataDir = DataDirectory.create(join(directory, 'data'), 'unsafe')
  const daemon = await Daemon.start([program, '-d', '{dir}'], dataDir)
  const agent = await Kmd.asAgent({ dataDir, timeoutMs, token: await grant(dataDir, devnet.facts, market) })
  const seller = await startSeller(market)
  const signer = await fromAgent({ agent })
  const pay = payingFetch(new Buyer({ signer, chains: await openChain(market, devnet.facts) }))
  return {
    buy: async () => {
      const response = await pay(seller.url)
      const text = await response.text()
      if (response.status !== 200) throw new Error(`status ${response.status}: ${text.slice(0, 200)}`)
    },
    spent: async () => (await agent.self()).budget[0]!.used,
    stop: async () => {
      agent.close()
      await seller.stop()
      await market.facilitator.stop()
      await daemon.stop()
      await devnet.stop()
    },
  }
}

const openChain = ({ requirements }: Market, { url, genesisHash }: Facts): Promise<Chain> =>
  Chain.open({ network: requirements.network, nodes: url, genesisHash })

/** Creates an agent with a new, funded key and limits that no run reaches. */
async function grant(dataDir: string, { url, genesisHash: network }: Facts, market: Market): Promise<string> {
  const kmd = await Kmd.connect({ dataDir })
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password })
  const address = await (await kmd.unlock({ id: walletId, password: () => password })).generateKey()
  const assetId = BigInt(market.requirements.asset)
  const algod = new Algod({ nodes: [{ url }] })
  await algod.fund({ address, microAlgos: 10_000_000n, asset: { assetId, amount: 1_000_000_000n } })
  await algod.close()
  const limit = { per: 'total', network, type: 'amount', assetId, amount: 10n ** 12n } as const
  const rules = { networks: [network], limits: [limit], payees: { allow: 'all' } } as const
  const { token } = await kmd.agents.create({ name: 'buyer', walletId, password, addresses: [address], rules })
  kmd.close()
  return token
}

async function startSeller({ chain, sellerAddress: payTo, requirements, facilitator }: Market) {
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  const price = { asset: requirements.asset, amount: String(priceMicroDollars) }
  const accepts = { network: chain.caip2, price, payTo }
  const facilitators = httpFacilitator({ url: `http://127.0.0.1:${port}`, timeoutMs })
  const gate = await Gate.open({ routes: { 'GET /report': { accepts } }, facilitators, chains: chain })
  const seller = createServer(paymentGate(gate, (_, response) => response.end('{"weather":"sunny"}')))
  seller.listen(0, '127.0.0.1')
  await once(seller, 'listening')
  return {
    url: `http://127.0.0.1:${(seller.address() as AddressInfo).port}/report`,
    stop: async () => {
      seller.close()
      seller.closeAllConnections()
      await server.stop()
    },
  }
}
