/** Runs buyers who abort, repeat and retry until they have what they paid for. */
import { Config } from '@algorandfoundation/algokit-utils'
import { Buyer, type Chain, decodePayment, LostResponseError, payingFetch, type Signer } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { UptoPayment } from '@latchkey/x402-wire'
import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import * as algosdk from 'algosdk'
import { Purchase, refusalOf, type Storefront } from './soakPurchases.test.helper.js'
import type { Counter, Random } from './soakRandom.test.helper.js'
import { fixedGoods, type Good, goods } from './soakShop.test.helper.js'

export type Counters = { aborts: Counter; repeats: Counter; outcomes: Counter }

type ShopperOptions = Counters & {
  name: string
  random: Random
  chain: Chain
  sellers: readonly Storefront[]
}

/** When a request is aborted. With a controller, once the head of the response has arrived. */
type Abort = { signal: AbortSignal; controller?: AbortController }

export type KnownPayment = { transactionId: string; purchase: string }

const abortRate = 0.25
const repeatRate = 0.05
const restartRate = 0.05
const silent = { verbose: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const signatureHeader = 'PAYMENT-SIGNATURE'
/** How often a settled payment is presented to a seller who refuses it, before it counts as lost. */
const maxRefusals = 5
/** Longer than a `fetch` of Node waits for a head, or for a piece of a body. */
const maxAttemptMs = 330_000

/** Makes one purchase after another, each until it is delivered. */
export abstract class Shopper {
  readonly name: string
  readonly purchases: Purchase[] = []
  protected readonly options: ShopperOptions

  constructor(options: ShopperOptions) {
    this.name = options.name
    this.options = options
  }

  abstract readonly address: string
  protected abstract readonly goods: readonly Good[]
  /** Whether the buyer can prove to a seller that an answer is its own. */
  abstract readonly hasSecret: boolean
  /** Returns every signed payment. */
  abstract payments(): KnownPayment[]
  /** Resolves to whether the answer has arrived. Throws what `fetch` throws. */
  protected abstract attempt(purchase: Purchase, abort: Abort): Promise<boolean>
  /** Returns the header that presents the last payment for this purchase again, if there is one. */
  protected abstract headerOf(purchase: Purchase): string | undefined

  async run(isOver: () => boolean, hasToEnd: () => boolean): Promise<void> {
    const { random, sellers } = this.options
    while (!isOver()) {
      const purchase = new Purchase(this.name, random.pick(sellers), random.pick(this.goods))
      this.purchases.push(purchase)
      while (purchase.state === 'wanted' && !hasToEnd()) await this.#try(purchase)
      if (purchase.state === 'delivered' && random.chance(repeatRate)) await this.#repeat(purchase, 'after delivery')
      await random.pause(0, 150)
    }
  }

  async #try(purchase: Purchase): Promise<void> {
    const { random, outcomes } = this.options
    purchase.attempts++
    try {
      await inTime(this.attempt(purchase, this.#chooseAbort()))
    } catch (error) {
      if (error instanceof HungError) purchase.state = 'hung'
      const name = (error as Error).name
      outcomes.add(name)
      purchase.note(`${name}: ${(error as Error).message}`)
    }
    if (purchase.state === 'wanted') await random.pause(50, 400)
  }

  #chooseAbort(): Abort {
    const { random, aborts } = this.options
    const controller = new AbortController()
    if (!random.chance(abortRate)) return { signal: controller.signal }
    const kind = random.pick(['before', 'during', 'during', 'during', 'after'])
    aborts.add(kind)
    if (kind === 'before') return { signal: AbortSignal.abort() }
    if (kind === 'during') return { signal: AbortSignal.timeout(random.between(1, 900)) }
    return { signal: controller.signal, controller }
  }

  /** Presents the payment again, with the same request and the header that was sent before. */
  async #repeat(purchase: Purchase, when: string): Promise<void> {
    try {
      await inTime(this.show(purchase, when))
    } catch (error) {
      if (error instanceof HungError) purchase.state = 'hung'
      purchase.note(`repeat: ${(error as Error).message}`)
    }
  }

  /** @returns whether the answer arrived, or why not */
  protected async show(purchase: Purchase, when: string): Promise<true | string> {
    const header = this.headerOf(purchase)
    if (header === undefined) return 'no payment'
    this.options.repeats.add(when)
    const { headers, ...init } = purchase.init
    const all = { ...(headers as { [name: string]: string }), [signatureHeader]: header }
    const response = await purchase.seller.fetch(purchase.url, { ...init, headers: all })
    if (await purchase.read(response)) return true
    return refusalOf(response) ?? `status ${response.status}`
  }
}

/** Rejects if an attempt does not end, which every attempt must, whatever fails. */
async function inTime<T>(attempt: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HungError(`the attempt did not end in ${maxAttemptMs} ms`)), maxAttemptMs)
  })
  return Promise.race([attempt, limit]).finally(() => clearTimeout(timer))
}

class HungError extends Error {
  override name = 'HungError'
}

export type LatchkeyShopperOptions = ShopperOptions & { signer: Signer.Signer; logFile: string }

/** Uses our buyer, with a log in a file, limits, and a key in the daemon. */
export class LatchkeyShopper extends Shopper {
  readonly hasSecret = true
  readonly signer: Signer.Signer
  protected readonly goods = goods
  readonly #open: () => Buyer
  #buyer: Buyer
  /** The header that presents the last payment of a purchase again, after its response was lost. */
  readonly #sent = new Map<Purchase, string>()
  /** The header that was sent first, which an eavesdropper could have. */
  readonly #first = new Map<Purchase, string>()
  readonly #refusals = new Map<string, number>()

  constructor(options: LatchkeyShopperOptions) {
    super(options)
    const { signer, chain, logFile } = options
    this.signer = signer
    const limits = { maxPerPayment: '$0.01', maxTotal: '$80' }
    this.#open = () => new Buyer({ signer, chains: chain, payments: new FilePayments(logFile), ...limits })
    this.#buyer = this.#open()
  }

  get buyer(): Buyer {
    return this.#buyer
  }

  get address(): string {
    return this.#buyer.address
  }

  payments(): KnownPayment[] {
    return this.buyer.payments.all().map(({ transactionId, url }) => ({
      transactionId,
      purchase: new URL(url).searchParams.get('purchase') ?? '',
    }))
  }

  protected headerOf(purchase: Purchase): string | undefined {
    return this.#sent.get(purchase) ?? this.#first.get(purchase)
  }

  protected async attempt(purchase: Purchase, { signal, controller }: Abort): Promise<boolean> {
    const { random, repeats } = this.options
    if (random.chance(restartRate)) {
      // Simulates a restart: all it knows is in the file, which its other purchases use at the same time.
      this.#buyer = this.#open()
      repeats.add('buyer opened again')
    }
    if (this.#sent.has(purchase)) {
      if (random.chance(0.5)) return this.#showAgain(purchase)
      repeats.add('same request')
    }
    const pay = payingFetch(this.buyer, {
      fetch: purchase.seller.fetch,
      repeatMs: 150,
      onPayment: ({ header }) => this.#first.set(purchase, header),
    })
    try {
      const response = await pay(purchase.url, { ...purchase.init, signal })
      controller?.abort()
      return await purchase.read(response)
    } catch (error) {
      if (error instanceof LostResponseError) this.#sent.set(purchase, error.header)
      throw error
    }
  }

  async #showAgain(purchase: Purchase): Promise<boolean> {
    const header = this.headerOf(purchase)!
    const result = await this.show(purchase, 'with the header')
    if (result === true) return true
    const state = await this.buyer.lookUp(transactionIdOf(header))
    // What has expired is never answered, so the request is paid for again.
    if (state === 'expired') this.#sent.delete(purchase)
    if (result !== 'payment_already_used') return false
    const refusals = (this.#refusals.get(header) ?? 0) + 1
    this.#refusals.set(header, refusals)
    if (refusals < maxRefusals) return false
    if (state === 'settled') purchase.state = 'lost'
    else this.#sent.delete(purchase)
    return false
  }
}

/** Uses the published client, which does not support repeats: the program around it keeps the header. */
export class PublishedShopper extends Shopper {
  readonly address: string
  readonly hasSecret = false
  /** The published client does not sign authorizations. */
  protected readonly goods = fixedGoods
  readonly #client: x402Client
  readonly #headers = new Map<Purchase, string[]>()
  readonly #refusals = new Map<string, number>()

  constructor(options: ShopperOptions & { account: algosdk.Account; nodeUrl: string }) {
    super(options)
    const { account, nodeUrl, chain } = options
    this.address = String(account.addr)
    const signer = toClientAvmSigner(Buffer.from(account.sk).toString('base64'))
    // The client reports every request to the node that it repeats.
    Config.configure({ logger: silent })
    const scheme = new ExactAvmScheme(signer, { algodUrl: nodeUrl })
    this.#client = new x402Client().register(chain.caip2 as never, scheme)
  }

  payments(): KnownPayment[] {
    return [...this.#headers].flatMap(([{ id }, headers]) =>
      headers.map((header) => ({ transactionId: transactionIdOf(header), purchase: id })),
    )
  }

  protected headerOf(purchase: Purchase): string | undefined {
    return this.#headers.get(purchase)?.at(-1)
  }

  protected async attempt(purchase: Purchase, { signal, controller }: Abort): Promise<boolean> {
    const header = this.headerOf(purchase)
    if (header !== undefined && !(await this.#isOver(purchase, header))) return purchase.state === 'delivered'
    const record: typeof fetch = (input, init) => {
      const request = new Request(input, init)
      const header = request.headers.get(signatureHeader)
      if (header !== null) this.#headers.set(purchase, [...(this.#headers.get(purchase) ?? []), header])
      return purchase.seller.fetch(request)
    }
    const pay = wrapFetchWithPayment(record, this.#client)
    const response = await pay(purchase.url, { ...purchase.init, signal })
    controller?.abort()
    return purchase.read(response)
  }

  /**
   * Presents the payment again. Resolves to whether it is finally refused and not settled; then another payment may be
   * made.
   */
  async #isOver(purchase: Purchase, header: string): Promise<boolean> {
    const result = await this.show(purchase, 'with the header')
    if (result === true || result === 'settlement_pending' || result.startsWith('status ')) return false
    const refusals = (this.#refusals.get(header) ?? 0) + 1
    this.#refusals.set(header, refusals)
    if (refusals < maxRefusals) return false
    const found = await this.options.chain.algod.transaction(transactionIdOf(header))
    if (found.type === 'confirmed') purchase.state = 'lost'
    return found.type !== 'confirmed'
  }
}

/** Computes the id of the payment on the ledger with algosdk instead of our code; of an authorization, its own id. */
function transactionIdOf(header: string): string {
  const { payload } = decodePayment(header)
  if ('program' in payload) return UptoPayment.idOf(UptoPayment.read(payload).terms.lease)
  const { paymentGroup, paymentIndex } = payload as { paymentGroup: string[]; paymentIndex: number }
  const bytes = new Uint8Array(Buffer.from(paymentGroup[paymentIndex]!, 'base64'))
  return algosdk.decodeSignedTransaction(bytes).txn.txID()
}
