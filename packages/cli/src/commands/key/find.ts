/** A key of a wallet, as it is said on the command line. */
import { Address } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import { UsageError } from '../../Command.js'
import { CommandError } from '../../exitCodes.js'
import { printable, quoted } from '../../printable.js'

/** Before anybody is asked for a password. */
export function checkAddress(address: string): void {
  if (Address.isValid(address)) return
  throw new UsageError(
    `${printable(address).slice(0, 80)} is not an address: it has 58 letters and digits and a checksum`,
  )
}

export async function checkKey(wallet: Wallet, address: string): Promise<void> {
  if ((await wallet.keys()).includes(address)) return
  throw new CommandError('failed', `there is no key ${address} in ${quoted(wallet.name)}; latchkey key list shows them`)
}
