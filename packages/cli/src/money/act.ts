/**
 * One money operation: describes the transaction, asks, signs in the daemon, records, sends, waits and reports.
 * Preflight checks run before anything is signed.
 */

import { AlgodError } from '@latchkey/algod'
import { Address, Amount, Description, Network, Readable, SignedTransaction, Transaction } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import type { Chain, Funds } from '@latchkey/x402/client'
import { type Option, readNumber } from '../Command.js'
import { chainOptions } from '../chain.js'
import * as Plan from '../commands/sign/Plan.js'
import { walletOptions } from '../daemon.js'
import { CommandError } from '../errors.js'
import { printJson, printLine, printMessage, withProgress } from '../messages.js'
import { confirm, confirmByWord, printNotice, requireConfirmation } from '../prompt.js'
import type { Account } from './Account.js'
import type { Asset } from './assets.js'
import { Interrupt } from './Interrupt.js'
import { deliver, find, type Outcome } from './Outcome.js'
import { rejected } from './rejection.js'
import { explorerUrl, reportOutcome } from './report.js'
import { closeWhenPrinted, defaultPath, type Sent, SentLog } from './SentLog.js'

/** The options of commands that send a transaction. */
export const actOptions = {
  again: {
    type: 'boolean',
    description: 'send another transaction, even if the outcome of the same one is unknown',
  },
  timeout: { type: 'string', placeholder: 'SECONDS', description: 'how long to wait for confirmation (60)' },
  yes: { type: 'boolean', short: 'y', description: 'send without confirmation' },
  ...chainOptions,
  ...walletOptions,
  log: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'log of sent transactions (~/.latchkey/transactions.jsonl)',
  },
  json: { type: 'boolean', description: 'print the result as one line of JSON' },
} as const satisfies { [name: string]: Option }

export type ActValues = {
  readonly again?: boolean | undefined
  readonly timeout?: string | undefined
  readonly yes?: boolean | undefined
  readonly log?: string | undefined
  readonly json?: boolean | undefined
}

export type Act = {
  readonly chain: Chain
  readonly wallet: Wallet
  readonly options: ActValues
  readonly account: Account
  /** The fields of the operation. Sender, fee, rounds and network are added. */
  readonly fields: Pick<Transaction.Transaction, 'type' | 'rcv' | 'amt' | 'xaid' | 'aamt' | 'arcv' | 'aclose' | 'note'>
  readonly asset: Asset
  /** Describes the balances afterwards, given the fee. */
  readonly afterwards: (feeMicroAlgos: bigint) => readonly string[]
  /** Throws if an account does not meet the requirements. */
  readonly check: (feeMicroAlgos: bigint) => Promise<void>
  /** Asks for a typed word instead of yes. */
  readonly word?: string | undefined
  /** Called once the transaction is on the ledger, before that is reported. */
  readonly onConfirmed?: (id: string, round: bigint | undefined) => Promise<void>
  /** Additional members of the JSON output. */
  readonly facts: { readonly [name: string]: string | null }
}

const validRounds = 1_000n
const maxFeeMicroAlgos = 100_000n
const signatureBytes = 75n
const defaultWaitSeconds = 60
const maxWaitSeconds = 3_600

export function readWaitMs({ timeout }: Pick<ActValues, 'timeout'>): number {
  return (readNumber('--timeout', timeout, 0, maxWaitSeconds) ?? defaultWaitSeconds) * 1000
}

/** @returns the exit code */
export async function act(given: Act): Promise<number> {
  const { chain, options } = given
  const waitMs = readWaitMs(options)
  const log = new SentLog(options.log ?? defaultPath())
  const intent = intentOf(given)
  const earlier = options.again ? undefined : await openOne(given, log, intent)
  if (earlier !== undefined) return repeat(given, log, earlier, waitMs)
  const draft = await prepare(given)
  await ask(given, draft)
  const { sent, isNew } = await log.add(
    chain.caip2,
    intent,
    async (isTaken) => {
      const transaction = unique(draft, isTaken)
      return { ...(await sign(given, transaction)), firstValid: transaction.fv ?? 0n, lastValid: transaction.lv! }
    },
    { isAgain: options.again ?? false },
  )
  return isNew
    ? send(given, log, sent, { waitMs, isRepeated: false })
    : repeat(given, log, { sent, round: undefined }, waitMs)
}

/** Identifies the operation: equal if the command is repeated. */
function intentOf({ account, fields }: Act): string {
  const bytes = Transaction.encode({ ...fields, snd: Address.decode(account.address) })
  return Buffer.from(Transaction.digest(bytes)).toString('base64url')
}

/**
 * An earlier transaction with the same intent whose outcome the command did not see, with its round if it is on the
 * ledger.
 */
type Earlier = { readonly sent: Sent; readonly round: bigint | undefined; readonly isConfirmed?: boolean }

async function openOne({ chain }: Act, log: SentLog, intent: string): Promise<Earlier | undefined> {
  const open = log.findOpen(chain.caip2, intent)
  if (open === undefined) return undefined
  const outcome = await withProgress('Looking for the earlier transaction', find(chain, open)).catch((cause) => {
    if (!(cause instanceof AlgodError)) throw cause
    const message = `the same transaction was sent before as ${open.id}, and its outcome is unknown: ${cause.message}`
    throw new CommandError('outcome_unknown', message, {
      hint: `check it with latchkey tx ${open.id}; to send another transaction, give --again`,
      cause,
    })
  })
  if (outcome.state === 'confirmed') return { sent: open, round: outcome.round, isConfirmed: true }
  if (outcome.state !== 'expired') return { sent: open, round: undefined }
  await log.close(open.id)
  printMessage(`The same transaction was sent before as ${open.id}, but expired without being confirmed.`)
  return undefined
}

async function repeat(
  given: Act,
  log: SentLog,
  { sent, round, isConfirmed }: Earlier,
  waitMs: number,
): Promise<number> {
  const before = `The same transaction was sent at ${Readable.time(sent.sentMs)}, and its outcome was not recorded`
  if (!isConfirmed) {
    printMessage(`${before}: sending ${sent.id} again, not a new one. To send a new one, give --again.`)
    return send(given, log, sent, { waitMs, isRepeated: true })
  }
  printMessage(`${before}: it is in the ledger, so nothing is sent now. To send another one, give --again.`)
  if (!given.options.json) printLine(sent.id)
  return finish(given, log, sent, { outcome: { state: 'confirmed', round }, isRepeated: true, isInterrupted: false })
}

async function send(
  given: Act,
  log: SentLog,
  sent: Sent,
  { waitMs, isRepeated }: { waitMs: number; isRepeated: boolean },
): Promise<number> {
  // Printed before sending, so that the id is known whatever happens next.
  if (given.options.json) printMessage(`Sending transaction ${sent.id}.`)
  else printLine(sent.id)
  const interrupt = new Interrupt()
  const delivery = deliver(given.chain, { ...sent, group: [sent.signed] }, { waitMs, interrupt, isRepeated })
  const outcome = await withProgress('Sending', delivery).finally(() => interrupt.stop())
  return finish(given, log, sent, { outcome, isRepeated, isInterrupted: interrupt.isInterrupted })
}

type End = { readonly outcome: Outcome; readonly isRepeated: boolean; readonly isInterrupted: boolean }

async function finish(given: Act, log: SentLog, { id }: Sent, end: End): Promise<number> {
  const { chain, options, facts } = given
  const { outcome, isRepeated, isInterrupted } = end
  if (outcome.state === 'confirmed') await given.onConfirmed?.(id, outcome.round)
  if (options.json) printJson({ id, ...resultOf(chain, outcome, id), repeated: isRepeated, ...facts })
  try {
    return reportOutcome(chain, [id], outcome, isInterrupted)
  } finally {
    if (outcome.state !== 'pending') await closeWhenPrinted(log, id)
  }
}

function resultOf(chain: Chain, outcome: Outcome, id: string): { readonly [name: string]: unknown } {
  const round = outcome.state === 'confirmed' && outcome.round !== undefined ? Number(outcome.round) : null
  return { state: outcome.state, round, network: chain.caip2, explorer: explorerUrl(chain, id) ?? null }
}

/** Returns the unsigned transaction, after all checks. */
async function prepare(given: Act): Promise<Transaction.Transaction> {
  const { chain, account, fields } = given
  const { lastRound, genesisHash, genesisId, minFee, feePerByte } = await chain.parameters()
  const draft: Transaction.Transaction = {
    ...fields,
    snd: Address.decode(account.address),
    fee: minFee,
    fv: lastRound,
    lv: lastRound + validRounds,
    gen: genesisId,
    gh: genesisHash,
  }
  const size = BigInt(Transaction.encode(draft).length) + signatureBytes
  const fee = feePerByte * size > minFee ? feePerByte * size : minFee
  if (fee > maxFeeMicroAlgos) {
    throw new CommandError('fee_too_high', `the network's fee is ${Amount.formatAlgos(fee)}`, {
      hint: 'try again when the network is less busy',
    })
  }
  const transaction = { ...draft, fee }
  await given.check(fee)
  await simulate(given, transaction)
  return transaction
}

/** The node checks rules that are not checked here, such as those of a new protocol version. */
async function simulate({ chain, account }: Act, txn: Transaction.Transaction): Promise<void> {
  const sgnr = account.key === account.address ? undefined : Address.decode(account.key)
  const failure = await chain.algod.simulate([SignedTransaction.encode({ sgnr, txn })]).catch((error: unknown) => {
    // Some nodes do not simulate; the ledger decides then.
    if (error instanceof AlgodError) return undefined
    throw error
  })
  if (failure === undefined) return
  throw rejected(chain, 'nothing was signed', failure.message)
}

async function ask(given: Act, transaction: Transaction.Transaction): Promise<void> {
  const { chain, asset, options, word } = given
  const { assetId, decimals, unit } = asset
  const assets = new Map(assetId === 0n ? [] : [[assetId, { decimals, unitName: unit }]])
  const { lines, warnings } = Description.describe(transaction, { assets })
  const { address, key } = given.account
  const shown = [
    `On ${Network.phrase(chain.caip2)}:`,
    ...lines.map((line) => `  ${line}`),
    ...(key === address ? [] : [`  Signed by ${key}, to which the sender is rekeyed.`]),
    ...warnings.map((line) => `  Warning: ${line}`),
    ...given.afterwards(transaction.fee ?? 0n).map((line) => `  ${line}`),
  ]
  for (const line of shown) printMessage(line)
  await requireConfirmation(options.yes, () => {
    // The question is asked on the terminal, so its subject must be shown there too.
    if (!process.stderr.isTTY) for (const line of shown) printNotice(line)
    return word === undefined ? confirm('Send it?') : confirmByWord('This cannot be undone.', word)
  })
}

/**
 * Repeating the same operation in one round would create the same transaction, which the ledger accepts once. The
 * second one therefore gets another last round.
 */
function unique(draft: Transaction.Transaction, isTaken: (id: string) => boolean): Transaction.Transaction {
  let transaction = draft
  while (isTaken(Transaction.id(transaction))) transaction = { ...transaction, lv: transaction.lv! - 1n }
  return transaction
}

async function sign(
  { wallet, account }: Act,
  transaction: Transaction.Transaction,
): Promise<{ id: string; signed: Uint8Array }> {
  const bytes = Transaction.encode(transaction)
  const member = { transaction, bytes, signed: undefined, isSigned: false }
  const [step] = await Plan.create([member], wallet, { key: account.key })
  const { bytes: signed } = await withProgress('Signing', step!.sign!())
  return { id: Transaction.id(bytes), signed }
}

/** Throws the problem of an account as a command error. */
export function checkFunds(problem: Funds.FundsProblem | undefined): void {
  if (problem === undefined) return
  throw new CommandError(problem.code, `nothing was signed: ${problem.message}`, { hint: problem.hint })
}
