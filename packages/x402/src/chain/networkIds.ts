/**
 * The ids under which sellers offer a network and facilitators list it: `both` uses the CAIP-2 id of the standard and
 * the id with the whole genesis hash, which older programs compare; `canonical` uses the standard's id alone.
 */
import { OptionsError } from '../errors.js'

export type NetworkIds = 'both' | 'canonical'

/** @throws OptionsError for another value */
export function checkedNetworkIds(networkIds: NetworkIds = 'both'): NetworkIds {
  if (networkIds === 'both' || networkIds === 'canonical') return networkIds
  throw new OptionsError(`networkIds cannot be ${JSON.stringify(networkIds)}`, 'Use "both" or "canonical".')
}
