import { OptionsError } from '../errors.js'
import type { Facilitator } from '../facilitator/Facilitator.js'
import type { FacilitatorClient } from './FacilitatorClient.js'

/**
 * A facilitator in this process, without HTTP.
 *
 * @throws OptionsError without a facilitator
 */
export function localFacilitator(facilitator: Facilitator): FacilitatorClient {
  if (facilitator === undefined) throw new OptionsError('facilitator is not set', 'Pass a `Facilitator`.')
  return {
    name: 'in this process',
    isTrusted: true,
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    supported: () => facilitator.supported(),
  }
}
