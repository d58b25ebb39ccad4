/** Records what buyers wanted and what they got; these books are compared with the ledger. */
import { randomUUID } from 'node:crypto'
import { receiptOf } from '@latchkey/x402/client'
import type { Answer, Good } from './soakSellers.test.helper.js'
import { methods } from './soakSellers.test.helper.js'

/** A seller as a buyer sees it. */
export type Storefront = { name: string; url: string; fetch: typeof fetch }

/** One purchase of a buyer, with one answer for one payment, however often the buyer has to ask. */
export class Purchase {
  readonly id: string = randomUUID()
  readonly buyer: string
  readonly seller: Storefront
  readonly good: Good
  readonly url: string
  /** Every complete answer that arrived, with the payment that its receipt names. */
  readonly deliveries: { transactionId: string; answer: string }[] = []
  attempts = 0
  /** `lost`: its payment is settled, and the seller refuses to answer. */
  state: 'wanted' | 'delivered' | 'lost' = 'wanted'
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
    const body = await response.text()
    if (response.status !== 200) {
      this.note(`${response.status} ${refusalOf(response) ?? body}`)
      return false
    }
    const { purchase, answer } = JSON.parse(body) as Answer
    if (purchase !== this.id) throw new Error(`the answer of purchase ${purchase} came for ${this.id}`)
    this.deliveries.push({ transactionId: receiptOf(response)?.transaction ?? 'no receipt', answer })
    this.state = 'delivered'
    return true
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
