/** The network of limits. */
import { Bytes, Network } from '@latchkey/algorand'
import { dollarOf, type Rules } from '@latchkey/kmd-api/rules'
import type { Agent } from '@latchkey/kmd-client'
import type { Chain } from '@latchkey/x402/client'
import { UsageError } from '../errors.js'
import { quoted } from '../format.js'

/** A network as named in rules, and its dollar asset. */
export type RuleNetwork = { readonly network: string; readonly dollarAssetId: bigint | undefined }

export function networkOfChain({ genesisHash, dollarAssetId }: Chain): RuleNetwork {
  return { network: Bytes.toBase64(genesisHash), dollarAssetId }
}

/** The network of an agent, or the given one if it has several. */
export function networkOfAgent({ name, rules }: Agent, given: string | undefined): RuleNetwork {
  const [only, ...others] = rules.networks
  const network = given === undefined ? only : rules.networks.find((one) => isNamed(one, given))
  if (network === undefined) {
    throw new UsageError(`${quoted(name)} does not sign for the network ${quoted(given ?? '')}`, { hint: named(rules) })
  }
  if (given === undefined && others.length > 0) {
    throw new UsageError(`${quoted(name)} signs for several networks`, {
      hint: `choose one with --network; ${named(rules)}`,
    })
  }
  return { network, dollarAssetId: dollarOf(network, rules.dollars) }
}

/** Returns the name of a public network, and the CAIP-2 id of any other. */
export function networkName(genesisHash: string): string {
  const caip2 = (): string => {
    const hash = Bytes.fromBase64(genesisHash)
    return hash?.length === 32 ? Network.caip2(hash) : 'unknown'
  }
  return Network.known.find((one) => one.genesisHash === genesisHash)?.name ?? caip2()
}

function named({ networks }: Rules): string {
  return `it signs for ${networks.map(networkName).join(', ')}`
}

function isNamed(genesisHash: string, given: string): boolean {
  return genesisHash === given || networkName(genesisHash) === given
}
