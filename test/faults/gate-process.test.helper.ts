/** Runs a replica of a seller that logs the answers of its handlers and everything it sends. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeReceipt } from '@latchkey/x402/client'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import { type FacilitatorClient, Gate, httpFacilitator, type Payment, type Route } from '@latchkey/x402/server'
import { HistoryLog } from './history.test.helper.js'
import { plantInClaims } from './plants.test.helper.js'
import {
  maxTimeoutSeconds,
  maxUsageSeconds,
  openChain,
  port,
  ready,
  setting,
  settings,
  untilItWorks,
} from './settings.test.helper.js'
import { openClaims, writeDown } from './stores.test.helper.js'

const history = new HistoryLog(settings.directory(), settings.name())
const onError = (error: unknown): void => console.error(error)
const isTrusted = setting('FAULTS_TRUSTS') === 'yes'
/** Identifies the answer in a response, also when it is sent again. */
const answerHeader = 'X-Answer'
/** Identifies the authorization that an answer is charged to. */
const authorizationHeader = 'X-Authorization'
const [maxUsage, upTo] = [3_000, '$0.003']
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

/** A report is settled after its handler runs, an order before. A query, a job and a tail are charged by usage. */
function routesFor(network: string): { [key: string]: Route } {
  const routes = settings.payTos().flatMap((payTo, index): [string, Route][] => {
    const accepts = { network, payTo, price: '$0.001', maxTimeoutSeconds }
    const metered = (stream: boolean) => {
      return { accepts: { network, payTo, price: { upTo, stream }, maxTimeoutSeconds: maxUsageSeconds } }
    }
    return [
      [`GET /query/${index}`, metered(false)],
      [`POST /job/${index}`, metered(false)],
      [`GET /tail/${index}`, metered(true)],
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
  const payment = paymentOf(request)
  if (payment === undefined) return void response.writeHead(404).end()
  const { transactionId } = payment
  const isStream = request.url!.startsWith('/tail/')
  history.add({ type: 'begun', purchase, transactionId, isOrder: request.method === 'POST' || isStream })
  await text(request)
  if (isStream) return stream(purchase, payment, response)
  await sleep(Math.random() * maxHandlerMs)
  const answer = randomUUID()
  const charge = payment.charge === undefined ? undefined : use(purchase, payment, response)
  history.add({ type: 'handled', purchase, transactionId, answer })
  response.writeHead(200, { 'Content-Type': 'application/json', [answerHeader]: answer })
  response.end(JSON.stringify({ purchase, answer, charge, transactionId }))
}

/** Charges a random amount, by the function or by the header. */
function use(purchase: string, payment: Payment, response: ServerResponse): string {
  const { transactionId, asset } = payment
  const charge = String(Math.random() < 0.1 ? 0 : Math.ceil(Math.random() * maxUsage))
  history.add({ type: 'used', purchase, transactionId, charge, isStream: false })
  response.setHeader(authorizationHeader, transactionId)
  if (Math.random() < 0.5) payment.charge!({ asset, amount: charge })
  else response.setHeader('Settlement-Overrides', JSON.stringify({ amount: charge }))
  return charge
}

/** Sends lines, each with the charge up to it, until the client leaves. */
async function stream(purchase: string, payment: Payment, response: ServerResponse): Promise<void> {
  const { transactionId, asset } = payment
  const answer = randomUUID()
  const total = Math.random() < 0.1 ? 0 : Math.ceil(Math.random() * maxUsage)
  const parts = Math.ceil(Math.random() * 5)
  response.writeHead(200, { 'Content-Type': 'application/jsonl', [authorizationHeader]: transactionId })
  for (let part = 1; part <= parts && !response.destroyed; part++) {
    const charge = String(Math.floor((total * part) / parts))
    history.add({ type: 'used', purchase, transactionId, charge, isStream: true })
    payment.charge!({ asset, amount: charge })
    response.write(`${JSON.stringify({ purchase, charge, transactionId, ...(part === parts ? { answer } : {}) })}\n`)
    await sleep(Math.random() * maxHandlerMs)
  }
  if (!response.destroyed) history.add({ type: 'handled', purchase, transactionId, answer })
  response.end()
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
    const authorization = response.getHeader(authorizationHeader)
    const transactionId = typeof authorization === 'string' ? authorization : decodeReceipt(receipt).transaction
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
