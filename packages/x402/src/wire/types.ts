/** What goes over HTTP, by the names of the public protocol. */
export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  ResourceInfo,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@x402/core/types'
