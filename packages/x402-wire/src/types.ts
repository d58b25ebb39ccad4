/** The types of the messages sent over HTTP, under their names in the public protocol. */
export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  ResourceInfo,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@x402/core/types'
