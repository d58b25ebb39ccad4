/** Records what buyers wanted and what they got; these books are compared with the ledger. */
import { randomUUID } from 'node:crypto'
import { receiptOf } from '@latchkey/x402/client'
import { type Answer, type Good, methods } from './soakShop.test.helper.js'

/** A seller as a buyer sees it. */
export type Storefront = { name: string; url: string; fetch: typeof fetch }

/** A complete answer that arrived. */
export type Delivery = {
  /** The payment that its receipt names; the authorization for a good sold by usage. */
  readonly transactionId: string
  readonly answer: string
  /** For a good sold by usage: the charge that the answer names, and the receipt, if it was charged before it was sent. */
  readonly usage?: { readonly charge: string; readonly receipt: Receipt | undefined } | undefined
}

type Receipt = NonNullable<ReturnType<typeof receiptOf>>

/** One purchase of a buyer, with one answer for one payment, however often the buyer has to ask. */
export class Purchase {
  readonly id: string = randomUUID()
  readonly buyer: string
  readonly seller: Storefront
  readonly good: Good
  readonly url: string
  readonly deliveries: Delivery[] = []
  /** The highest charge in the lines of a metered stream that arrived, by authorization. */
  readonly received = new Map<string, bigint>()
  attempts = 0
  /**
   * `lost`: its payment is settled, and the seller refuses to answer, as it may for a metered stream that was cut.
   * `hung`: an attempt did not end.
   */
  state: 'wanted' | 'delivered' | 'lost' | 'hung' = 'wanted'
  /** The outcomes of the last attempts, for messages. */
  readonly history: string[] = []

  constructor(buyer: string, seller: Storefront, good: Good) {
    this.buyer = buyer
    this.seller = seller
    this.good = good
    this.url = `${seller.url}/${good}?purchase=${this.id}`
  }

  /** Returns the request, which is the same each time. */
  get init(): RequestInit {
    if (methods[this.good] === 'GET') return { method: 'GET' }
    const headers = { 'Content-Type': 'application/json' }
    return { method: 'POST', headers, body: JSON.stringify({ order: this.id }) }
  }

  note(text: string): void {
    this.history.push(text.slice(0, 200))
    if (this.history.length > 12) this.history.shift()
  }

  /** Resolves to whether this is the answer. Rejects if the connection breaks while reading. */
  async read(response: Response): Promise<boolean> {
    const isStream = this.good === 'tail' && response.status === 200
    const body = isStream ? await this.#readLines(response) : await response.text()
    if (response.status !== 200) {
      this.note(`${response.status} ${refusalOf(response) ?? body}`)
      // A metered stream is charged for what was sent, and is not made again.
      if (this.good === 'tail' && body.includes('response_lost')) this.state = 'lost'
      return false
    }
    const { purchase, answer, usage } = JSON.parse(body) as Answer
    if (purchase !== this.id) throw new Error(`the answer of purchase ${purchase} came for ${this.id}`)
    const receipt = receiptOf(response)
    const transactionId = usage?.authorization ?? receipt?.transaction ?? 'no receipt'
    this.deliveries.push({ transactionId, answer, usage: usage && { charge: usage.charge, receipt } })
    this.state = 'delivered'
    return true
  }

  /** Reads a metered stream, and notes the charge of each line as it arrives. Resolves to the last line. */
  async #readLines({ body }: Response): Promise<string> {
    let rest = ''
    let last = '{}'
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      const lines = `${rest}${piece}`.split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const { usage } = JSON.parse(line) as { usage: { charge: string; authorization: string } }
        this.received.set(usage.authorization, BigInt(usage.charge))
        last = line
      }
    }
    return last
  }
}

/** Returns the code of a refusal, in a receipt or in the offers of a 402. */
export function refusalOf(response: Response): string | undefined {
  const receipt = receiptOf(response)
  if (receipt !== undefined) return receipt.success ? undefined : (receipt.errorReason ?? 'no reason')
  const header = response.headers.get('PAYMENT-REQUIRED')
  if (header === null) return undefined
  return (JSON.parse(Buffer.from(header, 'base64').toString()) as { error?: string }).error
}
