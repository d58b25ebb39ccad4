import { OptionsError } from '../../errors.js'
import type { Facilitator } from '../../facilitator/Facilitator.js'
import type { FacilitatorClient } from './FacilitatorClient.js'

/**
 * Creates a client for a facilitator in this process, without HTTP.
 *
 * @throws OptionsError if no facilitator is passed
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
