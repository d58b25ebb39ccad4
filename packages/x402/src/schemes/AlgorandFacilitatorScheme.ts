import type {
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkFacilitator,
  SettleResponse,
  VerifyResponse,
} from '@x402/core/types'
import { Facilitator } from '../facilitator/Facilitator.js'
import type { FacilitatorOptions } from '../facilitator/FacilitatorOptions.js'

/** Options of an {@link AlgorandFacilitatorScheme}. */
export type AlgorandFacilitatorSchemeOptions = FacilitatorOptions & {
  /**
   * The scheme to verify and settle: fixed prices, or prices by usage, which need a `feePayer`.
   *
   * @default 'exact'
   */
  scheme?: 'exact' | 'upto' | undefined
}

/**
 * The scheme for facilitators of `@x402/core`.
 *
 * @example
 * const testnet = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
 * facilitator.register(testnet, new AlgorandFacilitatorScheme({ chains: [chain], feePayer }))
 */
export class AlgorandFacilitatorScheme implements SchemeNetworkFacilitator {
  readonly scheme: 'exact' | 'upto'
  readonly caipFamily = 'algorand:*'
  /** Verifies and settles. */
  readonly facilitator: Facilitator

  constructor({ scheme = 'exact', ...options }: AlgorandFacilitatorSchemeOptions) {
    this.scheme = scheme
    this.facilitator = new Facilitator(options)
  }

  getExtra(): Record<string, unknown> | undefined {
    return this.facilitator.supported().kinds[0]?.extra
  }

  getSigners(): string[] {
    return Object.values(this.facilitator.supported().signers).flat()
  }

  verify(payload: PaymentPayload, requirements: PaymentRequirements): Promise<VerifyResponse> {
    return this.facilitator.verify(payload, requirements)
  }

  settle(payload: PaymentPayload, requirements: PaymentRequirements): Promise<SettleResponse> {
    return this.facilitator.settle(payload, requirements)
  }
}
