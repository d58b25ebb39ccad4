import type { Json } from '@latchkey/algorand'
import type { PaymentRequired } from '@latchkey/x402-wire'

/** A tool of an MCP server. */
export type ToolRequest = {
  readonly name: string
  /** Arguments with which the tool can be called. */
  readonly arguments: Json.Members
}

export type OfferRequest = {
  /** The address of the resource, or of the MCP server. */
  readonly url: URL
  readonly method: string
  /** The tool, if the resource is one. */
  readonly tool?: ToolRequest | undefined
  /** Allows addresses of this machine and of private networks, and requests without TLS. */
  readonly allowPrivate: boolean
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Asks a seller for the offer of a resource; undefined if the response is not a 402 with one. */
export type FetchOffer = (request: OfferRequest) => Promise<PaymentRequired | undefined>
