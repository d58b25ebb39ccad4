import type { Kmd } from '@latchkey/kmd-client'
import { CommandError, UsageError } from '../../errors.js'
import { quoted } from '../../format.js'

const maxNameBytes = 64

/** Checks the name of a new wallet, before the prompts for a mnemonic or a password. */
export async function checkName(kmd: Kmd, name: string): Promise<void> {
  if (name.trim() === '') throw new UsageError('a wallet needs a name', { code: 'invalid_value' })
  if (Buffer.byteLength(name) > maxNameBytes) {
    const message = `the name has ${Buffer.byteLength(name)} bytes; the maximum is ${maxNameBytes}`
    throw new UsageError(message, { code: 'invalid_value' })
  }
  if (!(await kmd.wallets.list()).some((wallet) => wallet.name === name)) return
  throw new CommandError('wallet_exists', `a wallet named ${quoted(name)} exists`, { hint: 'choose another name' })
}
