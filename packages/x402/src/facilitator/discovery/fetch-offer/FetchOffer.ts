import type { PaymentRequired } from '@latchkey/x402-wire'

export type OfferRequest = {
  readonly url: URL
  readonly method: string
  /** Allows addresses of this machine and of private networks, and requests without TLS. */
  readonly allowPrivate: boolean
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Asks a seller for the offer of a resource; undefined if the response is not a 402 with one. */
export type FetchOffer = (request: OfferRequest) => Promise<PaymentRequired | undefined>
