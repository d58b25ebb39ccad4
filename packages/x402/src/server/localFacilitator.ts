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
    verify: (payload, requirements, options) => facilitator.verify(payload, requirements, options),
    settle: (payload, requirements, options) => facilitator.settle(payload, requirements, options),
    supported: () => facilitator.supported(),
  }
}
