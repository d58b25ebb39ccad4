/** The kinds of payments that a facilitator lists in the response of GET /supported. */
import type { SupportedResponse } from '@latchkey/x402-wire'
import type { Chain, NetworkIds } from '../chain/Chain.js'

/**
 * The kinds for one network.
 *
 * @param payers the addresses that pay fees, those that can pay first
 */
export function supportedKinds(
  chain: Pick<Chain, 'ids' | 'caip2'>,
  payers: readonly string[],
  networkIds: NetworkIds,
): SupportedResponse['kinds'] {
  const extras = payers.length === 0 ? [{}] : payers.map((address) => ({ extra: { feePayer: address } }))
  // Only the named account can send a group of the scheme `upto`.
  const schemes = payers.length === 0 ? ['exact'] : ['exact', 'upto']
  // Listed under both ids: published sellers look up the id that they know, and use its first kind.
  const ids = networkIds === 'canonical' ? [chain.caip2] : chain.ids
  return schemes.flatMap((scheme) =>
    extras.flatMap((extra) =>
      ids.map((id) => ({ x402Version: 2, scheme, network: id as `${string}:${string}`, ...extra })),
    ),
  )
}
