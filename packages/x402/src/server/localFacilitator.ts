import type { Facilitator } from '../facilitator/Facilitator.js'
import type { FacilitatorClient } from './FacilitatorClient.js'

/** A facilitator in this process, without HTTP. */
export function localFacilitator(facilitator: Facilitator): FacilitatorClient {
  return {
    name: 'in this process',
    isTrusted: true,
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    supported: () => facilitator.supported(),
  }
}
