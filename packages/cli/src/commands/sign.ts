/** `latchkey sign [FILE]`: describes transactions, asks for confirmation, and signs with keys of the daemon. */
import { lstatSync, writeFileSync } from 'node:fs'
import { Bytes, Description, Transaction } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { command, type Values } from '../Command.js'
import { chainOptions } from '../chain.js'
import { type Unlocked, walletOptions, withWallet } from '../daemon.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { quoted } from '../format.js'
import { printBytes, printJson, printLine } from '../messages.js'
import { checkCanConfirmSigning, confirmSigning, printDescriptions, printLines, titleOf } from './sign/confirmation.js'
import { readAll, readTransactions } from './sign/input.js'
import * as Plan from './sign/Plan.js'
import * as SignProgram from './sign/program.js'
import * as Submission from './sign/Submission.js'

const signOptions = {
  key: {
    type: 'string',
    placeholder: 'ADDRESS',
    description: 'key to sign with, if the sender is rekeyed to it',
  },
  multisig: {
    type: 'string',
    placeholder: 'ADDRESS',
    description: 'sign for this multisig account and keep existing signatures',
  },
  member: {
    type: 'string',
    placeholder: 'ADDRESS',
    description: 'key in the wallet that signs for the multisig account',
  },
  program: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'sign a compiled program for --key instead',
  },
  out: {
    type: 'string',
    short: 'o',
    placeholder: 'FILE',
    completes: 'file',
    description: 'write the result to this file instead of stdout',
  },
  submit: { type: 'boolean', description: 'also send the transaction, wait for its round and print its id' },
  timeout: {
    type: 'string',
    placeholder: 'SECONDS',
    description: 'with --submit: how long to wait for confirmation (60)',
  },
  yes: { type: 'boolean', short: 'y', description: 'sign without confirmation' },
  'allow-warnings': { type: 'boolean', description: 'with --yes: also sign effects that cannot be undone' },
  network: { ...chainOptions.network, description: `with --submit: ${chainOptions.network.description}` },
  node: { ...chainOptions.node, description: `with --submit: ${chainOptions.node.description}` },
  ...walletOptions,
  json: { type: 'boolean', description: 'print the result as one line of JSON, with the signed bytes in base64' },
} as const

type Options = Values<typeof signOptions>

export const signCommand = command({
  description: `Describe a transaction or a group, ask for confirmation and sign it with keys in the daemon. The signature is verified \
before it is written: as raw bytes to a file or a pipe, as base64 to a terminal.`,
  positionals: [
    {
      name: 'FILE',
      isOptional: true,
      completes: 'file',
      description: 'transactions as goal and algosdk write them, raw or in base64 (stdin)',
    },
  ],
  options: signOptions,
  notes: `Every transaction whose sender has its key in the wallet is signed; the others in the group stay unchanged. Effects that cannot be undone \
(a rekey, a closed account, a role given up, a high fee) require typing the word "sign", or both --yes and --allow-warnings.

With --submit, transactions for a network other than the node's, expired transactions and incomplete groups are refused \
before signing. Running the command again sends the same transactions, which the ledger accepts only once.`,
  examples: [
    'latchkey sign payment.txn --wallet treasury --out payment.stxn',
    'latchkey sign group.txn -w treasury | curl --data-binary @- http://127.0.0.1:4001/v2/transactions',
    'latchkey sign payment.txn --submit --network testnet',
    'latchkey sign spend.txn -w mine --multisig ADDRESS --member ADDRESS --out spend.txn',
  ],
  exits: ['declined', 'unreachable', 'password', 'pending', 'interrupted'],
  run: async ({ options, args: [file] }) => {
    Plan.check(options)
    return options.program === undefined ? signTransactions(options, file) : signProgram(options, options.program, file)
  },
})

async function signTransactions(options: Options, file: string | undefined): Promise<number> {
  const members = readTransactions(await readAll(file), file)
  const submission = options.submit ? await Submission.open(members, options) : undefined
  printDescriptions(members, submission?.assets)
  if (submission?.reportKnown !== undefined) return submission.reportKnown()
  checkCanConfirmSigning(options)
  const { steps, signed } = await withWallet(options, async ({ wallet }: Unlocked) => {
    const planned = await Plan.create(members, wallet, options)
    return { steps: planned, signed: await carryOut(planned, options, wallet.name, submission) }
  })
  const isWhole = signed.every((one) => one === undefined || one.missing === 0)
  if (submission === undefined || !isWhole) await write(options, steps, signed)
  if (submission === undefined) return exitCodes.ok
  if (!isWhole) throw Submission.incomplete()
  if (options.out !== undefined) toFile(options.out, bytesOf(steps, signed))
  return submission.send(steps.map(({ member }, index) => signed[index]?.bytes ?? Plan.encodeUnchanged(member)))
}

/** Signs in order. If one signature fails, nothing is written. */
async function carryOut(
  steps: readonly Plan.Step[],
  options: Options,
  wallet: string,
  submission: Submission.Submission | undefined,
): Promise<(Plan.Signed | undefined)[]> {
  const own = steps.filter(({ sign }) => sign !== undefined)
  // A file that is already signed can still be sent.
  if (own.length === 0 && (submission === undefined || steps.some(({ member }) => !member.isSigned))) {
    throw new CommandError(
      'nothing_to_sign',
      `the wallet ${quoted(wallet)} has no key to sign any of the transactions`,
      {
        hint: 'for a rekeyed account name the key with --key, for a multisig give --multisig and --member',
      },
    )
  }
  await submission?.check(steps)
  printLines(...steps.map(({ text }, index) => `${titleOf(index, steps.length)} ${text}.`))
  await confirmSigning(
    options,
    own.flatMap(({ member }) => Description.describe(member.transaction).finalWarnings),
    submission === undefined ? undefined : own.length === 0 ? 'Send?' : 'Sign and send?',
  )
  const signed: (Plan.Signed | undefined)[] = []
  for (const { sign } of steps) signed.push(await sign?.())
  return signed
}

function bytesOf(steps: readonly Plan.Step[], signed: readonly (Plan.Signed | undefined)[]): Uint8Array {
  return Bytes.concat(steps.map(({ member }, index) => signed[index]?.bytes ?? Plan.encodeUnchanged(member)))
}

async function write(
  options: Options,
  steps: readonly Plan.Step[],
  signed: readonly (Plan.Signed | undefined)[],
): Promise<void> {
  const bytes = bytesOf(steps, signed)
  for (const [index, one] of signed.entries()) {
    if (one !== undefined && one.missing > 0) {
      printLines(`${titleOf(index, steps.length)} needs ${one.missing} more signature${one.missing === 1 ? '' : 's'}.`)
    }
  }
  if (options.out !== undefined) toFile(options.out, bytes)
  if (options.json) {
    const transactions = steps.map(({ member }, index) => ({
      id: Transaction.id(member.bytes),
      signed: signed[index] !== undefined,
      missingSignatures: signed[index]?.missing ?? null,
    }))
    const result = { transactions, out: options.out ?? null, bytes: Buffer.from(bytes).toString('base64') }
    printJson(result)
  } else if (options.out === undefined) await toStdout(bytes)
  else printLines(`Signed: ${options.out}`)
}

async function signProgram(options: Options, programFile: string, file: string | undefined): Promise<number> {
  const { key } = options
  if (file !== undefined) throw new UsageError('give a transaction or --program, not both')
  if (options.submit) throw new UsageError('--program excludes --submit: a program is signed, not sent')
  if (key === undefined) throw new UsageError('--program needs --key: the account that the program may spend from')
  const program = await readAll(programFile)
  SignProgram.check(program, programFile)
  checkCanConfirmSigning(options)
  const signature = await withWallet(options, (unlocked) => SignProgram.sign(unlocked, program, key, options))
  const text = Buffer.from(signature).toString('base64')
  if (options.out !== undefined) toFile(options.out, Buffer.from(`${text}\n`))
  if (options.json) printJson({ key, signature: text, out: options.out ?? null })
  else if (options.out === undefined) printLine(text)
  else printLines(`Signed: ${options.out}`)
  return exitCodes.ok
}

/** Writes the signed result to a file. */
function toFile(file: string, bytes: Uint8Array): void {
  try {
    // Replaces the file atomically, because it may be the input file. The temporary name must not clash with others.
    if (isReplaceable(file)) AtomicFile.replaceSync(file, bytes, 0o600, `${file}.${process.pid}.tmp`)
    else writeFileSync(file, bytes)
  } catch (cause) {
    throw new CommandError('file_unwritable', `the result cannot be written: ${(cause as Error).message}`, { cause })
  }
}

/** Writes the signed result to stdout: raw bytes for programs, base64 for a terminal. */
async function toStdout(bytes: Uint8Array): Promise<void> {
  if (process.stdout.isTTY) printLine(Buffer.from(bytes).toString('base64'))
  else await printBytes(bytes)
}

/** Devices and named pipes are written to, not replaced. */
function isReplaceable(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false })
  return found === undefined || found.isFile()
}
