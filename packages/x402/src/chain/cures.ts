/** The commands of `latchkey` that give an account what it lacks, as texts for messages. */
import { Network } from '@latchkey/algorand'
import type { Chain } from './Chain.js'

/** The command that opts an account in to an asset, for the holder of its key. */
export function optInCommand(chain: Chain, address: string, assetId: bigint): string {
  return `latchkey opt-in ${assetId} --account ${address}${networkOption(chain)}`
}

/** The command that gives an account an amount, such as `0.5 ALGO` or `2 #31566704`. */
export function fundCommand(chain: Chain, address: string, amount: string): string {
  const option = networkOption(chain)
  return option === '' ? `latchkey fund ${address} '${amount}'` : `latchkey send '${amount}' ${address}${option}`
}

/** None for a local network: the commands find the one that runs, or are given it by the environment. */
function networkOption({ caip2 }: Chain): string {
  const name = Network.known.find((network) => network.caip2 === caip2)?.name
  return name === undefined ? '' : ` --network ${name}`
}
