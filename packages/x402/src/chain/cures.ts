/** The commands of `latchkey` that give an account what it lacks, as texts for messages. */
import { Network } from '@latchkey/algorand'
import type { Chain } from './Chain.js'

/** The command that opts an account in to an asset, for the holder of its key. */
export function optInCommand({ caip2 }: Chain, address: string, assetId: bigint): string {
  return `latchkey opt-in ${assetId} --account ${address} --network ${networkName(caip2)}`
}

/** The command that gives an account an amount, such as `0.5 ALGO` or `2 #31566704`. */
export function fundCommand({ caip2 }: Chain, address: string, amount: string): string {
  const network = networkName(caip2)
  return network === 'local'
    ? `latchkey fund ${address} '${amount}' --network local`
    : `latchkey send '${amount}' ${address} --network ${network}`
}

function networkName(caip2: string): string {
  return Network.known.find((network) => network.caip2 === caip2)?.name ?? 'local'
}
