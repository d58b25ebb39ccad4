/**
 * Runs many buyers. Each makes one purchase after another and repeats a request until its response arrives, even after
 * this process was killed. Buyers log each intent, each payment before it is signed, and each complete response.
 *
 * Modes: `load` buys until SIGTERM. `finish` buys nothing new and requests what is missing. `close` does the same, and
 * gives up purchases that are not paid for and whose seller has no fee budget left. It signs nothing more for them.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TimeLimit } from '@latchkey/algorand'
import { Buyer, LostResponseError, type Payment, payingFetch, receiptOf, Signer } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { HistoryLog, openIntents, readLines } from './history.test.helper.js'
import { openChain, ready, setting, settings } from './settings.test.helper.js'

/** What a seller sends. Without a charge, the price is fixed. */
type Content = { readonly answer: string; readonly charge?: string; readonly transactionId: string }
type Mode = 'load' | 'finish' | 'close'
type Purchase = { readonly id: string; readonly payer: string; readonly payTo: string; tries: number; triedMs: number }

const mode = setting('FAULTS_MODE') as Mode
const seeds = setting('FAULTS_SEEDS').split(',')
const gates = setting('FAULTS_GATES').split(',')
/** How many purchases each buyer makes; unlimited by default. */
const maxPurchases = Number(process.env['FAULTS_PURCHASES'] ?? Number.POSITIVE_INFINITY)
/**
 * How often a payment is sent to both gates at the same time, and how often it is presented again after its response.
 */
const doubleRate = Number(process.env['FAULTS_DOUBLE_RATE'] ?? 0.05)
const repeatRate = Number(process.env['FAULTS_REPEAT_RATE'] ?? 0.05)
const payTos = settings.payTos()
const history = new HistoryLog(settings.directory(), settings.name())
const requestMs = 6_000
const attemptMs = 20_000
/** How often a buyer tries before it moves on. After a minute it tries again, while its response is still held. */
const maxTries = 3
/**
 * Tests with few purchases set more tries for every seller, so each purchase gets its response even on a slow machine.
 */
const allTries = Number(process.env['FAULTS_TRIES'] ?? 0)
const askAgainMs = 60_000
/** How often a settled payment may be refused in the end. Its purchase then ends without an answer, and is reported. */
const maxRefusals = 30
/** The longest pause of a buyer between two tries, and between two requests for a response that is not ready. */
const pauseMs = Number(process.env['FAULTS_PAUSE_MS'] ?? 100)
/**
 * The share of purchases at the first seller, which uses up its budget; and the share once a buyer was refused there.
 */
const firstSellerRate = 0.5
const laterRate = 0.03

/**
 * Purchases whose last try found the claim held by another request. These purchases are retried until the claim is
 * free.
 */
const busy = new Set<string>()

let isOver = false
process.on('SIGTERM', () => {
  isOver = true
})

/** Writes to the log of this process, with the time of the history. */
function complain(text: string): void {
  console.error(`${Math.round(Number(process.hrtime.bigint() / 1_000_000n))} ${text}`)
}

/** A buyer's log that records each payment before it is signed. */
class WrittenPayments extends FilePayments {
  override add(payment: Payment): void {
    const purchase = new URL(payment.url).searchParams.get('purchase') ?? ''
    const { transactionId, payTo, amount } = payment
    history.add({ type: 'signed', purchase, transactionId, payTo, amount })
    super.add(payment)
  }
}

/**
 * Sends a request to any of the gates, as a load balancer does; sometimes twice, as networks and impatient proxies do.
 */
async function send(purchase: string, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init)
  const signal = TimeLimit.signal(requestMs, init?.signal ?? undefined)
  const { pathname, search } = new URL(request.url)
  const body = request.body === null ? undefined : await request.arrayBuffer()
  const to = async (gate: string): Promise<Response> => {
    const options = { method: request.method, headers: request.headers, redirect: 'manual' as const, signal }
    const all = { ...options, ...(body === undefined ? {} : { body }) }
    const response = await fetch(`${gate}${pathname}${search}`, all)
    const receipt = receiptOf(response)
    if (response.status !== 200 && request.headers.has('PAYMENT-SIGNATURE')) {
      complain(`${purchase}: ${gate} responded with ${response.status}, ${reasonOf(response)}`)
    }
    if (receipt?.success === false && receipt.errorMessage?.includes('is being served')) {
      history.add({ type: 'busy', transactionId: receipt.transaction })
      busy.add(purchase)
    }
    // Without a URL, the shop's counts: behind a load balancer, the gate is not visible.
    return withLimit(response, signal)
  }
  const chosen = gates[Math.floor(Math.random() * gates.length)]!
  if (request.headers.has('PAYMENT-SIGNATURE') && Math.random() < doubleRate) {
    for (const gate of gates.filter((other) => other !== chosen)) {
      void to(gate)
        .then((response) => readAnswer(purchase, response))
        .catch(() => {})
    }
  }
  return to(chosen)
}

/**
 * Returns a response whose body fails when the signal aborts. Node ends a body that is not read yet, as if it were
 * complete, and the payment would count as answered by nothing.
 */
function withLimit(response: Response, signal: AbortSignal): Response {
  const { status, headers } = response
  if (response.body === null) return new Response(null, { status, headers })
  const reader = response.body.getReader()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  aborted.catch(() => {})
  const body = new ReadableStream({
    type: 'bytes',
    pull: async (controller) => {
      signal.throwIfAborted()
      const { done, value } = await Promise.race([reader.read(), aborted])
      if (!done) return controller.enqueue(new Uint8Array(value))
      controller.close()
      controller.byobRequest?.respond(0)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return new Response(body, { status, headers })
}

/** Returns why a gate refused a payment, for the log. */
function reasonOf(response: Response): string {
  const receipt = receiptOf(response)
  if (receipt?.success === false) return `${receipt.errorReason}: ${receipt.errorMessage}`
  const offer = response.headers.get('PAYMENT-REQUIRED')
  return offer === null ? 'no reason' : String((JSON.parse(atob(offer)) as { error?: string }).error)
}

/**
 * Whether the response is the answer, or reports that it is lost. The outcome is logged before the payment counts as
 * answered, which happens at its last byte.
 */
async function readAnswer(purchase: string, response: Response): Promise<boolean> {
  const length = Number(response.headers.get('Content-Length') ?? Number.NaN)
  const receipt = receiptOf(response)
  if (response.status === 500 && receipt?.success === true) {
    const { error, transaction } = JSON.parse(await response.text()) as { error?: string; transaction?: string }
    const isLost = error === 'response_lost'
    if (isLost) history.add({ type: 'lost', purchase, transactionId: transaction ?? receipt.transaction })
    return isLost
  }
  if (response.status !== 200) {
    await response.body?.cancel()
    return false
  }
  if (response.headers.get('Content-Type') === 'application/jsonl') return readStream(purchase, response)
  const reader = response.body!.getReader()
  const chunks: Uint8Array[] = []
  let isWritten = false
  const write = (): void => {
    if (isWritten) return
    isWritten = true
    const { answer, charge, transactionId: authorization } = JSON.parse(Buffer.concat(chunks).toString()) as Content
    const transactionId = charge === undefined ? (receipt?.transaction ?? 'no receipt') : authorization
    history.add({ type: 'answer', purchase, transactionId, answer, charge })
  }
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    if (Buffer.concat(chunks).length === length) write()
  }
  write()
  return true
}

/**
 * Reads a stream that is charged by usage, line by line. Its last line is the answer. Each line is logged before the next
 * piece is read, and so before the payment counts as answered.
 */
async function readStream(purchase: string, response: Response): Promise<boolean> {
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let isAnswered = false
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return isAnswered
    const lines = `${rest}${decoder.decode(value, { stream: true })}`.split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      const { answer, charge, transactionId } = JSON.parse(line) as Content & { charge: string }
      if (answer === undefined) history.add({ type: 'received', purchase, transactionId, charge })
      else history.add({ type: 'answer', purchase, transactionId, answer, charge })
      isAnswered = answer !== undefined
    }
  }
}

class Shopper {
  readonly #buyer: Buyer
  readonly #open: Purchase[]
  #made = 0
  readonly #refusals = new Map<Purchase, number>()
  #wasRefused = false

  /** Purchases with a payment come first, because their responses are held for minutes only. */
  constructor(buyer: Buyer, open: Purchase[]) {
    const signed = buyer.payments.all().map(({ url }) => url)
    const isSigned = ({ id }: Purchase): boolean => signed.some((url) => url.includes(id))
    this.#buyer = buyer
    this.#open = [...open.filter(isSigned), ...open.filter((purchase) => !isSigned(purchase))]
  }

  async run(): Promise<void> {
    while (!isOver) {
      const purchase = this.#next()
      if (purchase === undefined) return
      await this.#try(purchase)
      await sleep(Math.random() * pauseMs)
    }
  }

  #next(): Purchase | undefined {
    const open = this.#open.find(({ id, tries, triedMs, payTo }) => {
      const isDue = mode === 'load' && performance.now() > triedMs + askAgainMs
      return mode === 'close' || tries < triesFor(payTo) || isDue || busy.has(id)
    })
    if (open !== undefined) return open
    if (mode !== 'load' || this.#made >= maxPurchases) return undefined
    this.#made++
    const isFirst = Math.random() < (this.#wasRefused ? laterRate : firstSellerRate)
    const payTo = payTos[isFirst ? 0 : 1 + Math.floor(Math.random() * (payTos.length - 1))]!
    const purchase = { id: randomUUID(), payer: this.#buyer.address, payTo, tries: 0, triedMs: 0 }
    history.add({ type: 'intent', purchase: purchase.id, payer: purchase.payer, payTo })
    this.#open.push(purchase)
    return purchase
  }

  async #try(purchase: Purchase): Promise<void> {
    purchase.tries++
    purchase.triedMs = performance.now()
    busy.delete(purchase.id)
    // Moves the purchase to the end, so others get their turn.
    this.#open.push(...this.#open.splice(this.#open.indexOf(purchase), 1))
    if (mode === 'close' && purchase.payTo === payTos[0]) {
      const end = await this.#endOf(purchase)
      if (end === 'unpaid') {
        history.add({ type: 'refused', purchase: purchase.id, reason: 'no fee budget' })
        return this.#end(purchase)
      }
      // The buyer would sign another payment if the earlier ones have expired in the meantime.
      if (end === 'undecided') return void (await sleep(Math.random() * 400))
    }
    let header = ''
    const pay = payingFetch(this.#buyer, {
      fetch: (input, init) => send(purchase.id, input, init),
      repeatMs: pauseMs,
      answer: 'body',
      onPayment: ({ repeatHeader }) => {
        header = repeatHeader
      },
    })
    try {
      const response = await pay(urlOf(purchase), { ...initOf(purchase), signal: AbortSignal.timeout(attemptMs) })
      if (await readAnswer(purchase.id, response)) {
        this.#end(purchase)
        if (header !== '' && Math.random() < repeatRate) await this.#repeat(purchase, header)
      }
      if (response.status === 503 && purchase.payTo === payTos[0]) this.#wasRefused = true
    } catch (error) {
      const { name, message, cause } = error as Error
      complain(`${purchase.id} try ${purchase.tries}: ${name}: ${message}; ${String(cause)}`)
      const isRefused = error instanceof LostResponseError && error.state === 'settled' && error.status === 402
      if (mode === 'close' && isRefused && this.#countRefusal(purchase) > maxRefusals) this.#end(purchase)
      await sleep(Math.random() * 400)
    }
  }

  /** Presents an answered payment again: the answer must be the same, or none. */
  async #repeat(purchase: Purchase, header: string): Promise<void> {
    const { headers, ...init } = initOf(purchase)
    const all = { ...(headers as { [name: string]: string }), 'PAYMENT-SIGNATURE': header }
    await readAnswer(purchase.id, await send(purchase.id, urlOf(purchase), { ...init, headers: all }))
  }

  /**
   * What became of the payments for a purchase at the seller that has no fees left. `unpaid`: none is settled or can be.
   * `undecided`: no node says so yet.
   */
  async #endOf({ id }: Purchase): Promise<'paid' | 'unpaid' | 'undecided'> {
    const own = this.#buyer.payments.all().filter(({ url }) => url.includes(id))
    try {
      const states = await Promise.all(own.map(({ transactionId }) => this.#buyer.lookUp(transactionId)))
      if (states.includes('settled')) return 'paid'
      return states.includes('open') ? 'undecided' : 'unpaid'
    } catch (error) {
      complain(`${id}: ${(error as Error).message}`)
      return 'undecided'
    }
  }

  #countRefusal(purchase: Purchase): number {
    const count = (this.#refusals.get(purchase) ?? 0) + 1
    this.#refusals.set(purchase, count)
    return count
  }

  #end(purchase: Purchase): void {
    this.#open.splice(this.#open.indexOf(purchase), 1)
  }
}

/** The first seller's budget runs out, and further tries there only take time. */
const triesFor = (payTo: string): number => Math.max(allTries, payTo === payTos[0] ? 1 : maxTries)

/** Half of the goods have a fixed price, half are orders; a tail is streamed. */
const goods = ['report', 'order', 'report', 'order', 'query', 'job', 'tail', 'job']
/** Tests with few purchases choose. */
const chosenGoods = process.env['FAULTS_GOODS']?.split(',') ?? goods

/** Follows from the id, so that it is the same after a restart. */
const goodOf = ({ id }: Purchase): string => chosenGoods[Number.parseInt(id.slice(0, 4), 16) % chosenGoods.length]!
const isOrder = (purchase: Purchase): boolean => ['order', 'job'].includes(goodOf(purchase))

function urlOf(purchase: Purchase): string {
  return `http://shop.test/${goodOf(purchase)}/${payTos.indexOf(purchase.payTo)}?purchase=${purchase.id}`
}

function initOf(purchase: Purchase): RequestInit {
  if (!isOrder(purchase)) return {}
  const headers = { 'Content-Type': 'application/json' }
  return { method: 'POST', headers, body: JSON.stringify({ order: purchase.id }) }
}

const chain = await openChain()
const open = openIntents(readLines(settings.directory()), settings.name()).map(
  ({ purchase: id, payer, payTo }): Purchase => ({ id, payer, payTo, tries: 0, triedMs: 0 }),
)
const shoppers = seeds.map((seed, index) => {
  const signer = Signer.fromSeed(Buffer.from(seed, 'hex'))
  const file = join(settings.directory(), `${settings.name()}-${index}.payments.jsonl`)
  const buyer = new Buyer({ signer, chains: chain, payments: new WrittenPayments(file), maxPerPayment: '$0.01' })
  return new Shopper(
    buyer,
    open.filter(({ payer }) => payer === buyer.address),
  )
})
ready()
await Promise.all(shoppers.map((shopper) => shopper.run()))
process.exit(0)
