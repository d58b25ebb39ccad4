/** Starts the parties of a checkout of this repository in the way its documentation describes. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type * as Devnets from '@latchkey/devnet'
import type * as Http from '@latchkey/http'
import type * as Daemons from '@latchkey/kmd'
import type * as Clients from '@latchkey/x402/client'
import type * as Facilitators from '@latchkey/x402/facilitator'
import type * as Nodes from '@latchkey/x402/node'
import type * as Servers from '@latchkey/x402/server'
import type * as Sqlite from '@latchkey/x402/sqlite'
import type { Facts } from '../devnet/Process.js'
import { loadEntry } from '../support/checkout.js'
import { newAccounts } from './newAccounts.js'
import type { PartyOptions } from './Party.js'
import { dollar, network, priceMicroDollars } from './setting.js'

export type Buy = () => Promise<Response>

export async function devnet({ checkout }: PartyOptions): Promise<unknown> {
  const { Devnet } = await loadEntry<typeof Devnets>(checkout!, '@latchkey/devnet')
  const { url, genesisHash, dispenser, accounts } = await Devnet.start({ port: 0 })
  return { url, genesisHash, dispenser, accounts }
}

/** Returns the address of a key daemon on the data directory. */
export async function daemon({ checkout, directory }: PartyOptions): Promise<string> {
  const { Daemon } = await loadEntry<typeof Daemons>(checkout!, '@latchkey/kmd')
  return (await Daemon.start({ dataDir: directory })).address
}

export async function facilitator({ checkout, devnet: facts, directory }: PartyOptions): Promise<string> {
  const { Chain, createFacilitatorHandler, Facilitator, Signer } = await loadEntry<typeof Facilitators>(
    checkout!,
    '@latchkey/x402/facilitator',
  )
  const { SqliteSettlements } = await loadEntry<typeof Sqlite>(checkout!, '@latchkey/x402/sqlite')
  const { Server } = await loadEntry<typeof Http>(checkout!, '@latchkey/http')
  const chain = await Chain.open(chainOptions(facts!))
  // On disk, as in the command.
  const store = new SqliteSettlements(join(directory, 'facilitator.db'))
  const feePayer = Signer.fromSecretKey(facts!.accounts[0]!.secretKey)
  const one = new Facilitator({ chains: [chain], feePayer, store })
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator: one }) })
  const { port } = await server.listen('127.0.0.1', 0)
  return `http://127.0.0.1:${port}`
}

export async function seller({ checkout, devnet: facts, url }: PartyOptions): Promise<string> {
  const { Chain, Gate } = await loadEntry<typeof Servers>(checkout!, '@latchkey/x402/server')
  const { paymentGate } = await loadEntry<typeof Nodes>(checkout!, '@latchkey/x402/node')
  const chain = await Chain.open(chainOptions(facts!))
  const price = { asset: dollar, amount: String(priceMicroDollars) }
  const accepts = { network: chain.caip2, price, payTo: facts!.accounts[1]!.address }
  const gate = await Gate.open({ routes: { 'GET /weather': { accepts } }, facilitators: url!, chains: chain })
  const server = createServer(paymentGate(gate, (_, response) => response.end('{"report":{"weather":"sunny"}}')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

/** Returns `at` buyers that share one chain. */
export async function buyers({ checkout, devnet: facts, url }: PartyOptions, at: number): Promise<Buy[]> {
  const { Buyer, Chain, payingFetch, Signer } = await loadEntry<typeof Clients>(checkout!, '@latchkey/x402/client')
  const chain = await Chain.open(chainOptions(facts!))
  return (await newAccounts(facts!.url, at)).map((secretKey) => {
    const pay = payingFetch(new Buyer({ signer: Signer.fromSecretKey(secretKey), chains: chain }))
    return () => pay(url!)
  })
}

function chainOptions({ url, genesisHash }: Facts) {
  return { network, nodes: url, genesisHash }
}
