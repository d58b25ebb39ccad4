/** `latchkey sign --program FILE --key ADDRESS`: authorizes a program to spend from an account. */
import { Address, Ed25519, Program } from '@latchkey/algorand'
import type { Unlocked } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { type Confirmation, confirmSigning, printLines } from './confirmation.js'

/** The maximum that the ledger allows for a group of sixteen. */
const maxProgramBytes = 16_000

export function check(program: Uint8Array, file: string): void {
  if (program.length > 0 && program.length <= maxProgramBytes) return
  throw new CommandError(
    'invalid_file',
    `${file} has ${program.length} bytes; a compiled program has 1 to ${maxProgramBytes}`,
  )
}

/** Signs after a confirmation and verifies the signature. */
export async function sign(
  { wallet }: Unlocked,
  program: Uint8Array,
  key: string,
  confirmation: Confirmation,
): Promise<Uint8Array> {
  const warning = `Anyone who has the program and this signature can spend from ${key} anything that the program allows, without expiry.`
  printLines(
    `A program of ${program.length} bytes, version ${program[0]}:`,
    `  The program's own address is ${Address.encode(Program.address(program))}.`,
    `  Signed by ${key}.`,
    `  Warning: ${warning}`,
  )
  await confirmSigning(confirmation, [warning])
  const signature = await wallet.signProgram({ address: key, program })
  if (!Ed25519.verify(signature, Program.bytesToSign(program), Address.decode(key))) {
    throw new CommandError('daemon_misbehaved', 'the daemon returned no valid signature; nothing was written')
  }
  return signature
}
