/** Adds offers that the seller has signed to the 402 of a gate. */
import { BoundedMap, SignedOffer } from '@latchkey/algorand'
import { OfferReceipt, type PaymentRequired, type PaymentRequirements } from '@latchkey/x402-wire'
import { OptionsError, PartyError } from '../../errors.js'
import type { ReceiptSigner } from '../../signer/ReceiptSigner.js'
import type { GateOptions } from '../gate/GateOptions.js'

/** An offer is valid for at least half of this time when a buyer gets it. */
const validSeconds = 600
/** A 402 waits this long for signatures, and is then sent without them. */
const timeoutMs = 2_000
const maxCached = 1_000
/** Anyone can ask for any query, and each one is another offer. Further ones in a second are not signed. */
const maxPerSecond = 20

type Sign = NonNullable<ReceiptSigner['signOffer']>
type CachedOffer = { readonly validUntil: number; readonly jws: Promise<string | undefined> }

export class SignedOffers {
  readonly #signer: string
  readonly #sign: Sign
  /** Never throws. */
  readonly #onError: (error: unknown) => void
  readonly #cache = new BoundedMap<string, CachedOffer>(maxCached)
  #second = { number: 0, count: 0 }

  constructor(signer: string, sign: Sign, onError: (error: unknown) => void) {
    this.#signer = signer
    this.#sign = sign
    this.#onError = onError
  }

  /**
   * Undefined if the seller signs no offers.
   *
   * @throws OptionsError without a signer that can sign offers
   */
  static of(
    { receipts, signOffers = false }: Pick<GateOptions, 'receipts' | 'signOffers'>,
    onError: (error: unknown) => void,
  ): SignedOffers | undefined {
    if (!signOffers) return undefined
    const sign = receipts?.signOffer
    if (sign !== undefined) return new SignedOffers(receipts!.address, sign, onError)
    throw new OptionsError('signOffers needs receipts', 'Set receipts to a signer that can sign offers.')
  }

  /** Never rejects: a price that cannot be signed is sent without a signature. */
  async addTo(required: PaymentRequired): Promise<PaymentRequired> {
    const { accepts, resource } = required
    const texts = await Promise.all(accepts.map((one) => this.#signed(one, resource.url)))
    const signed = texts.flatMap((jws, index): [number, string][] => (jws === undefined ? [] : [[index, jws]]))
    return OfferReceipt.addOffers(required, new Map(signed))
  }

  #signed({ scheme, network, asset, payTo, amount }: PaymentRequirements, resourceUrl: string) {
    const fields = { resourceUrl, scheme, network, asset, payTo, amount }
    const key = JSON.stringify(fields)
    const now = Math.floor(Date.now() / 1_000)
    const known = this.#cache.touch(key)
    const leftSeconds = (known?.validUntil ?? 0) - now
    if (known !== undefined && leftSeconds >= validSeconds / 2 && leftSeconds <= validSeconds) return known.jws
    if (!this.#admit(now)) return undefined
    const validUntil = now + validSeconds
    const jws = this.#limited({ ...fields, validUntil }).catch((error: unknown) => {
      this.#cache.delete(key)
      this.#onError(error)
      return undefined
    })
    this.#cache.set(key, { validUntil, jws })
    return jws
  }

  #admit(second: number): boolean {
    if (this.#second.number !== second) this.#second = { number: second, count: 0 }
    return ++this.#second.count <= maxPerSecond
  }

  async #limited(offer: SignedOffer.Offer): Promise<string> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const message = `the offer was not signed within ${timeoutMs} ms`
      timer = setTimeout(() => reject(new PartyError('offer_not_signed', message)), timeoutMs)
    })
    try {
      const jws = await Promise.race([(async () => this.#sign(offer))(), late])
      this.#check(jws, offer)
      return jws
    } finally {
      clearTimeout(timer)
    }
  }

  /** A signer outside this process could return anything. */
  #check(jws: string, offer: SignedOffer.Offer): void {
    const verified = SignedOffer.verify(jws)
    const names = Object.keys(offer) as (keyof SignedOffer.Offer)[]
    const isSame = names.every((name) => verified.offer[name] === offer[name])
    if (isSame && verified.signer === this.#signer) return
    throw new PartyError('offer_not_signed', 'the signer signed another offer than the one it was given')
  }
}
