/** What is shown to whoever is about to sign, and how they are asked. On stderr: stdout is for what is signed. */
import { Description, Transaction, type TransactionFile } from '@latchkey/algorand'
import { UsageError } from '../../Command.js'
import { CommandError } from '../../exitCodes.js'
import { confirm, confirmByWord, hasTerminal } from '../../prompt.js'

export type Confirmation = { readonly yes?: boolean | undefined; readonly 'allow-warnings'?: boolean | undefined }

export function show(members: readonly TransactionFile.Member[]): void {
  const lines: string[] = []
  for (const [index, { transaction, bytes }] of members.entries()) {
    const { words, warnings } = Description.describe(transaction)
    lines.push(`${titleOf(index, members.length)}, ${Transaction.id(bytes)}:`)
    for (const line of words) lines.push(`  ${line}`)
    for (const line of warnings) lines.push(`  Warning: ${line}`)
  }
  for (const line of Description.describeGroup(members.map(({ transaction }) => transaction)))
    lines.push(`Warning: ${line}`)
  say(...lines)
}

export function titleOf(index: number, count: number): string {
  return count === 1 ? 'Transaction' : `Transaction ${index + 1} of ${count}`
}

export function say(...lines: string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** Told before a password is asked for: without leave nothing will be signed here. */
export function expectConfirmation({ yes }: Confirmation): void {
  if (!yes && !hasTerminal()) throw new UsageError('nobody can be asked here; give --yes to sign')
}

/** What cannot be taken back takes more than a key pressed in passing, and more than a flag that is always there. */
export async function ask(
  { yes, 'allow-warnings': allowWarnings }: Confirmation,
  finalWarnings: readonly string[],
): Promise<void> {
  const isGrave = finalWarnings.length > 0
  if (yes && isGrave && !allowWarnings) {
    throw new UsageError(`--yes is not enough for this: ${finalWarnings[0]} Give --allow-warnings as well`)
  }
  if (yes) return
  const isGiven = await (isGrave ? confirmByWord('This cannot be taken back.', 'sign') : confirm('Sign?'))
  if (!isGiven) throw new CommandError('declined', 'nothing was signed')
}
