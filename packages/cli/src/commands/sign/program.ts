/** `latchkey sign --program FILE --key ADDRESS`: lets a program act for an account. */
import { Address, Ed25519, Program } from '@latchkey/algorand'
import type { Unlocked } from '../../daemon.js'
import { CommandError } from '../../exitCodes.js'
import { ask, type Confirmation, say } from './consent.js'

/** What the ledger takes of the largest group. */
const maxProgramBytes = 16_000

export function check(program: Uint8Array, file: string): void {
  if (program.length > 0 && program.length <= maxProgramBytes) return
  throw new CommandError(
    'failed',
    `${file} has ${program.length} bytes; a compiled program has 1 to ${maxProgramBytes}`,
  )
}

/** The signature, after it was asked for and verified. */
export async function sign(
  { wallet }: Unlocked,
  program: Uint8Array,
  key: string,
  leave: Confirmation,
): Promise<Uint8Array> {
  const warning = `Whoever has the program and this signature can spend from ${key} all that the program allows, for as long as it does.`
  say(
    `A program of ${program.length} bytes, version ${program[0]}:`,
    `  Its own address is ${Address.encode(Program.address(program))}.`,
    `  It is signed by ${key}.`,
    `  Warning: ${warning}`,
  )
  await ask(leave, [warning])
  const signature = await wallet.signProgram({ address: key, program })
  if (!Ed25519.verify(signature, Program.bytesToSign(program), Address.decode(key))) {
    throw new CommandError('failed', 'the daemon answered with something else than the signature; nothing was written')
  }
  return signature
}
