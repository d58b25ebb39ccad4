/**
 * Describes the transactions before signing and asks for confirmation. Uses stderr, because stdout is for the result.
 */
import { Description, Readable, Transaction, type TransactionFile } from '@latchkey/algorand'
import { CommandError, UsageError } from '../../errors.js'
import { printMessage } from '../../messages.js'
import { confirm, confirmByWord, hasTerminal } from '../../prompt.js'

export type Confirmation = { readonly yes?: boolean | undefined; readonly 'allow-warnings'?: boolean | undefined }

/** Each description leads with the money; the whole addresses and the other effects follow. */
export function printDescriptions(
  members: readonly TransactionFile.Member[],
  known: Readable.AssetOptions = localDollars(process.env),
): void {
  const lines: string[] = []
  for (const [index, { transaction, bytes }] of members.entries()) {
    const options = Readable.describeOptions(transaction, known)
    const { lines: description, warnings } = Description.describe(transaction, options)
    lines.push(Readable.payment(transaction, known))
    lines.push(`${titleOf(index, members.length)}, ${Transaction.id(bytes)}:`)
    for (const line of description) lines.push(`  ${line}`)
    for (const line of warnings) lines.push(`  Warning: ${line}`)
  }
  for (const line of Description.describeGroup(members.map(({ transaction }) => transaction)))
    lines.push(`Warning: ${line}`)
  printLines(...lines)
}

/** The dollar asset of a local network that the environment names. */
function localDollars({ AVM_NETWORK: network, USDC_ASSET_ID: id = '' }: NodeJS.ProcessEnv): Readable.AssetOptions {
  return network === 'local' && /^[1-9][0-9]{0,18}$/.test(id) ? { dollarAssetIds: [BigInt(id)] } : {}
}

export function titleOf(index: number, count: number): string {
  return count === 1 ? 'Transaction' : `Transaction ${index + 1} of ${count}`
}

export function printLines(...lines: string[]): void {
  for (const line of lines) printMessage(line)
}

/** Called before the password prompt, which would be in vain without a way to confirm. */
export function checkCanConfirmSigning({ yes }: Confirmation): void {
  if (yes || hasTerminal()) return
  throw new UsageError('confirmation is required, but stdin is not a terminal', {
    code: 'confirmation_required',
    hint: 'give --yes to sign',
  })
}

/** Irreversible effects require a typed word or a second option, because --yes may be in every script. */
export async function confirmSigning(
  { yes, 'allow-warnings': allowWarnings }: Confirmation,
  finalWarnings: readonly string[],
  question = 'Sign?',
): Promise<void> {
  const isFinal = finalWarnings.length > 0
  if (yes && isFinal && !allowWarnings) {
    throw new UsageError(`--yes alone does not confirm this: ${finalWarnings[0]}`, {
      code: 'confirmation_required',
      hint: 'Also give --allow-warnings',
    })
  }
  if (yes) return
  const isConfirmed = await (isFinal ? confirmByWord('This cannot be undone.', 'sign') : confirm(question))
  if (!isConfirmed) throw new CommandError('declined', 'nothing was signed')
}
