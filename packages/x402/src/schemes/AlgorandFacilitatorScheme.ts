/** The scheme for facilitators of `@x402/core`: `facilitator.register(network, new AlgorandFacilitator({ chains, feePayer }))`. */
import type {
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkFacilitator,
  SettleResponse,
  VerifyResponse,
} from '@x402/core/types'
import { Facilitator, type FacilitatorOptions } from '../facilitator/Facilitator.js'

export class AlgorandFacilitatorScheme implements SchemeNetworkFacilitator {
  readonly scheme = 'exact'
  readonly caipFamily = 'algorand:*'
  readonly facilitator: Facilitator

  constructor(options: FacilitatorOptions) {
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
