/** Names for wallets: looked at before anybody is asked for words or a password. */
import type { Kmd } from '@latchkey/kmd-client'
import { UsageError } from '../../Command.js'
import { CommandError } from '../../exitCodes.js'
import { quoted } from '../../printable.js'

const maxNameBytes = 64

export async function checkName(kmd: Kmd, name: string): Promise<void> {
  if (name.trim() === '') throw new UsageError('a wallet needs a name')
  if (Buffer.byteLength(name) > maxNameBytes) {
    throw new UsageError(`the name has ${Buffer.byteLength(name)} bytes; ${maxNameBytes} are the most`)
  }
  if (!(await kmd.wallets.list()).some((wallet) => wallet.name === name)) return
  throw new CommandError('failed', `there is a wallet named ${quoted(name)} already; choose another name`)
}
