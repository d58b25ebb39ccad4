/** Starts sellers that lie, and runs the command `latchkey pay` as a process that buys from them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { decodePayment, type PaymentPayload, type PaymentRequirements } from '@latchkey/x402/client'
import { temporaryDirectory } from '../../../process/commands.test.helper.js'
import { latchkeyCommand } from '../../../support/devnet.test.helper.js'
import { hostedLatchkey, latchkey, type Outcome } from '../../../support/latchkey.test.helper.js'
import { type OpenTerminal, openTerminal } from '../../../support/terminal.test.helper.js'
import { dollar, type Market } from '../../support/market.test.helper.js'

export type Seller = {
  url: string
  /** The received payments, one for each paid request. */
  payments: PaymentPayload[]
  /** The transaction ids of those payments. */
  ids: Set<string>
}

type Respond = (payment: PaymentPayload | undefined, response: ServerResponse, request: IncomingMessage) => unknown

/** Calls `respond` with every request, and with its payment if it has one. */
export async function openSeller(t: TestContext, respond: Respond): Promise<Seller> {
  const seller: Seller = { url: '', payments: [], ids: new Set() }
  const server = createServer(async (request, response) => {
    const header = request.headers['payment-signature']
    const payment = header === undefined ? undefined : decodePayment(String(header))
    if (payment !== undefined) {
      seller.payments.push(payment)
      seller.ids.add(JSON.stringify(payment.payload))
    }
    request.resume()
    await respond(payment, response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  seller.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/goods`
  return seller
}

/** Returns a price, by default a cent to the seller. */
export function priceOf(market: Market, change: Partial<PaymentRequirements> = {}): PaymentRequirements {
  const feePayer = market.devnet.accounts[4]!.address
  return {
    scheme: 'exact',
    network: market.chain.caip2 as PaymentRequirements['network'],
    amount: '10000',
    asset: dollar.toString(),
    payTo: market.seller,
    maxTimeoutSeconds: 60,
    extra: { feePayer },
    ...change,
  }
}

export function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

/** Responds with 402 and these prices. */
export function askFor(response: ServerResponse, accepts: readonly PaymentRequirements[], more: object = {}): void {
  const required = { x402Version: 2, resource: { url: 'http://shop.example/goods' }, accepts, ...more }
  response.writeHead(402, { 'PAYMENT-REQUIRED': encoded(required) }).end('{}')
}

/** Settles a payment as an honest seller would, and returns its transaction id. */
export async function take(market: Market, payment: PaymentPayload): Promise<string> {
  const { transaction } = await market.facilitator.settle(payment, payment.accepted)
  return transaction
}

export type Shopper = {
  log: string
  run: (url: string, ...args: string[]) => Promise<Outcome>
  /** Does the same in a process that runs many commands, for tests of results and messages. */
  runHosted: (url: string, ...args: string[]) => Promise<Outcome>
  atTerminal: (url: string, ...args: string[]) => OpenTerminal
}

/** Runs `latchkey pay` with the first account of the devnet, which has dollars. */
export function openShopper(t: TestContext, market: Market): Shopper {
  const directory = temporaryDirectory(t)
  const log = join(directory, 'payments.jsonl')
  const network = ['--network', 'local', '--node', market.devnet.url, '--dollar', `${dollar}`, '--log', log]
  const env = { AVM_MNEMONIC: market.devnet.accounts[0]!.mnemonic }
  return {
    log,
    run: (url, ...args) => latchkey(['pay', url, ...network, ...args], { home: directory, env }),
    runHosted: (url, ...args) => hostedLatchkey(['pay', url, ...network, ...args], { home: directory, env }),
    atTerminal: (url, ...args) =>
      openTerminal(t, [process.execPath, latchkeyCommand, 'pay', url, ...network, ...args], {
        env: { PATH: process.env['PATH'], HOME: directory, ...env },
      }),
  }
}
