/** Adds a receipt that the seller has signed to the settlements that a gate reports. */
import { SignedReceipt } from '@latchkey/algorand'
import { OfferReceipt, type SettleResponse } from '@latchkey/x402-wire'
import { OptionsError, PartyError } from '../../errors.js'
import type { ReceiptFields, ReceiptSigner } from '../../signer/ReceiptSigner.js'
import type { CompleteOptions } from '../gate/completeOptions.js'
import type { PaidRequest } from './PaidRequest.js'

/** A paid response waits this long for its receipt, and is then sent without one. */
const timeoutMs = 5_000

type Paid = Pick<PaidRequest, 'payment' | 'requirement' | 'required'>

export class SignedReceipts {
  readonly #signer: ReceiptSigner
  /** Never throws. */
  readonly #onError: (error: unknown) => void
  readonly #timeoutMs: number

  /** @throws OptionsError if the signer cannot sign receipts */
  constructor(signer: ReceiptSigner, onError: (error: unknown) => void, limits: { timeoutMs?: number } = {}) {
    if (typeof signer?.sign !== 'function' || typeof signer.address !== 'string') {
      throw new OptionsError('receipts is not a signer of receipts', 'Pass the result of `ReceiptSigner.fromKmd`.')
    }
    this.#signer = signer
    this.#onError = onError
    this.#timeoutMs = limits.timeoutMs ?? timeoutMs
  }

  /**
   * Undefined if the seller signs no receipts. Without an origin, a buyer could have any host signed, in its Host header,
   * unless every route names its own URL.
   *
   * @throws OptionsError
   */
  static of(
    { receipts, origin, routes }: Pick<CompleteOptions, 'receipts' | 'origin' | 'routes'>,
    onError: (error: unknown) => void,
  ): SignedReceipts | undefined {
    if (receipts === undefined) return undefined
    const isNamed = Object.values(routes).every((route) => route?.resource !== undefined)
    if (origin !== undefined || isNamed) return new SignedReceipts(receipts, onError)
    throw new OptionsError('receipts needs origin', 'Set origin to the public origin, such as https://shop.example.')
  }

  /** Never throws: a settled payment gets its response even if its receipt cannot be signed. */
  async addTo(settlement: SettleResponse, paid: Paid): Promise<SettleResponse> {
    const { payer } = paid.payment
    // The transaction of a price by usage is known after the settlement. There is none if nothing was charged.
    const transaction = settlement.transaction === '' ? undefined : settlement.transaction
    const fields = { network: paid.requirement.network, resourceUrl: paid.required.resource.url, payer, transaction }
    try {
      const jws = await this.#limited(async () => this.#signer.sign(fields))
      this.#check(jws, fields)
      return OfferReceipt.add(settlement, jws)
    } catch (error) {
      this.#onError(error)
      return settlement
    }
  }

  async #limited(sign: () => Promise<string>): Promise<string> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const message = `the receipt was not signed within ${this.#timeoutMs} ms`
      timer = setTimeout(() => reject(new PartyError('receipt_not_signed', message)), this.#timeoutMs)
    })
    try {
      return await Promise.race([sign(), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** A signer outside this process could return anything. */
  #check(jws: string, fields: ReceiptFields): void {
    const { receipt, signer } = SignedReceipt.verify(jws)
    const isSame =
      signer === this.#signer.address &&
      receipt.network === fields.network &&
      receipt.resourceUrl === fields.resourceUrl &&
      receipt.payer === fields.payer &&
      receipt.transaction === fields.transaction
    if (!isSame)
      throw new PartyError('receipt_not_signed', 'the signer signed another receipt than the one it was given')
  }
}
