/** Runs a replica of a seller that logs the answers of its handlers and everything it sends. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeReceipt } from '@latchkey/x402/client'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import { type FacilitatorClient, Gate, httpFacilitator, type Route } from '@latchkey/x402/server'
import { HistoryLog } from './history.test.helper.js'
import { plantInClaims } from './plants.test.helper.js'
import { maxTimeoutSeconds, openChain, port, ready, setting, settings, untilItWorks } from './settings.test.helper.js'
import { openClaims, writeDown } from './stores.test.helper.js'

const history = new HistoryLog(settings.directory(), settings.name())
const onError = (error: unknown): void => console.error(error)
const isTrusted = setting('FAULTS_TRUSTS') === 'yes'
/** Identifies the answer in a response, also when it is sent again. */
const answerHeader = 'X-Answer'
const maxHandlerMs = Number(process.env['FAULTS_HANDLER_MS'] ?? 40)

/** For a test in which the first replica must get the payment. */
const prefersFirst = process.env['FAULTS_PREFERS_FIRST'] === 'yes'

/** Sends each call to a random replica, and to the next one if it fails, as behind a load balancer. */
function balanced(urls: readonly string[]): FacilitatorClient {
  const clients = urls.map((url) => httpFacilitator({ url, timeoutMs: 5_000, isTrusted }))
  const first = async <T>(call: (client: FacilitatorClient) => Promise<T> | T): Promise<T> => {
    const start = prefersFirst ? 0 : Math.floor(Math.random() * clients.length)
    let last: unknown
    for (let index = 0; index < clients.length; index++) {
      try {
        return await call(clients[(start + index) % clients.length]!)
      } catch (error) {
        last = error
      }
    }
    throw last
  }
  return {
    name: 'balanced',
    isTrusted,
    verify: (...call) => first((client) => client.verify(...call)),
    settle: (...call) => first((client) => client.settle(...call)),
    supported: () => first((client) => client.supported()),
  }
}

/** A report is settled after its handler runs, an order before. */
function routesFor(network: string): { [key: string]: Route } {
  const routes = settings.payTos().flatMap((payTo, index): [string, Route][] => {
    const accepts = { network, payTo, price: '$0.001', maxTimeoutSeconds }
    return [
      [`GET /report/${index}`, { accepts }],
      [`POST /order/${index}`, { accepts: { ...accepts, price: '$0.002' } }],
    ]
  })
  return Object.fromEntries(routes)
}

const chain = await openChain()
const store = await untilItWorks(async () => openClaims(setting('FAULTS_CLAIMS')))
const claims = writeDown(plantInClaims(store, settings.plant()), history)
const facilitators = balanced(setting('FAULTS_REPLICAS').split(','))
const gate = await untilItWorks(() =>
  Gate.open({ routes: routesFor(chain.caip2), facilitators, claims, chains: chain, paywall: false, onError }),
)

let unfinished = 0

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const purchase = purchaseOf(request)
  const transactionId = paymentOf(request)?.transactionId
  if (transactionId === undefined) return void response.writeHead(404).end()
  history.add({ type: 'begun', purchase, transactionId, isOrder: request.method === 'POST' })
  await text(request)
  await sleep(Math.random() * maxHandlerMs)
  const answer = randomUUID()
  history.add({ type: 'handled', purchase, transactionId, answer })
  response.writeHead(200, { 'Content-Type': 'application/json', [answerHeader]: answer })
  response.end(JSON.stringify({ purchase, answer }))
}

const purchaseOf = ({ url = '/' }: IncomingMessage): string =>
  new URL(url, 'http://shop.test').searchParams.get('purchase') ?? ''

const listener = paymentGate(gate, serve, { onError })

/** Only this process knows whether every byte of an answer was passed on. */
function recordSent(request: IncomingMessage, response: ServerResponse): void {
  response.once('finish', () => {
    const answer = response.getHeader(answerHeader)
    const receipt = response.getHeader('PAYMENT-RESPONSE')
    if (typeof answer !== 'string' || typeof receipt !== 'string') return
    const transactionId = decodeReceipt(receipt).transaction
    history.add({ type: 'sent', purchase: purchaseOf(request), transactionId, answer })
  })
}

createServer((request, response) => {
  // Tells the test whether the gate is busy.
  if (request.url === '/unfinished') return void response.end(String(unfinished))
  unfinished++
  recordSent(request, response)
  void Promise.resolve(listener(request, response)).finally(() => unfinished--)
}).listen(port, settings.host(), ready)
