/** Checks the address of a key that is given on the command line. */
import { Address } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import { CommandError, UsageError } from '../../errors.js'
import { printable, quoted } from '../../format.js'

/** Called before the password prompt. */
export function checkAddress(address: string): void {
  if (Address.isValid(address)) return
  throw new UsageError(`${printable(address).slice(0, 80)} is not an address`, {
    code: 'invalid_value',
    hint: 'an address has 58 letters and digits, the last of which are a checksum',
  })
}

export async function checkKey(wallet: Wallet, address: string): Promise<void> {
  if ((await wallet.keys()).includes(address)) return
  throw new CommandError('key_not_found', `wallet ${quoted(wallet.name)} does not have the key of ${address}`, {
    hint: 'list the keys with latchkey key list',
  })
}
