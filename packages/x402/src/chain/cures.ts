/** The `latchkey` commands that fund an account or opt it in, for use in messages. */
import { Network } from '@latchkey/algorand'
import type { Chain } from './Chain.js'

/** The command with which the holder of the key opts the account in to an asset. */
export function optInCommand(chain: Chain, address: string, assetId: bigint): string {
  return `latchkey opt-in ${assetId} --account ${address}${networkOption(chain)}`
}

/** The command that sends an account an amount, such as `0.5 ALGO` or `2 #31566704`. */
export function fundCommand(chain: Chain, address: string, amount: string): string {
  const option = networkOption(chain)
  return option === '' ? `latchkey fund ${address} '${amount}'` : `latchkey send '${amount}' ${address}${option}`
}

/** Empty for a local network, because the commands find a running network or read it from the environment. */
function networkOption({ caip2 }: Chain): string {
  const name = Network.known.find((network) => network.caip2 === caip2)?.name
  return name === undefined ? '' : ` --network ${name}`
}
