/** `latchkey sign [FILE]`: tells in words what would be signed, asks, and signs with keys that stay in the daemon. */
import { Bytes, Description, Transaction } from '@latchkey/algorand'
import { command, UsageError, type Values } from '../Command.js'
import { type Unlocked, walletOptions, withWallet } from '../daemon.js'
import { CommandError, exitCodes } from '../exitCodes.js'
import { ask, expectConfirmation, say, show, titleOf } from './sign/consent.js'
import { readAll, readTransactions } from './sign/input.js'
import { toFile, toStdout } from './sign/output.js'
import * as Plan from './sign/Plan.js'
import * as SignProgram from './sign/program.js'

const signOptions = {
  key: {
    type: 'string',
    value: 'ADDRESS',
    about: 'the key to sign with, where it is not the sender: of an account that was rekeyed to it',
  },
  multisig: {
    type: 'string',
    value: 'ADDRESS',
    about: 'sign for this multisig, on top of the signatures there already',
  },
  member: { type: 'string', value: 'ADDRESS', about: 'the key in the wallet that signs for the multisig' },
  program: { type: 'string', value: 'FILE', completes: 'file', about: 'sign a compiled program for --key instead' },
  out: { type: 'string', short: 'o', value: 'FILE', completes: 'file', about: 'where to write it, instead of stdout' },
  yes: { type: 'boolean', short: 'y', about: 'sign without being asked' },
  'allow-warnings': { type: 'boolean', about: 'with --yes: sign also what cannot be taken back' },
  ...walletOptions,
  json: { type: 'boolean', about: 'print the outcome as one line of JSON, with what was signed in base64' },
} as const

type Options = Values<typeof signOptions>

export const signCommand = command({
  text: `Tells in words what a transaction or a group does, asks, and signs it with keys that stay in the daemon. What was signed is \
verified before it is written: raw to a file or a pipe, as base64 to a terminal.`,
  takes: [
    {
      name: 'FILE',
      isOptional: true,
      completes: 'file',
      about: 'what goal and algosdk write, raw or in base64; stdin without it',
    },
  ],
  options: signOptions,
  notes: `Each transaction is signed whose sender has its key in the wallet; the others of a group are handed on as they came. What cannot be \
taken back (a rekey, a closed account, a role given up, a high fee) is signed only if the word "sign" is typed, or with --yes and --allow-warnings.`,
  examples: [
    'latchkey sign payment.txn --wallet treasury --out payment.stxn',
    'latchkey sign group.txn -w treasury | curl --data-binary @- http://127.0.0.1:4001/v2/transactions',
    'latchkey sign spend.txn -w mine --multisig ADDRESS --member ADDRESS --out spend.txn',
  ],
  ends: ['declined', 'unreachable', 'password', 'interrupted'],
  run: async ({ options, args: [file] }) => {
    Plan.check(options)
    return options.program === undefined ? signTransactions(options, file) : signProgram(options, options.program, file)
  },
})

async function signTransactions(options: Options, file: string | undefined): Promise<number> {
  const members = readTransactions(await readAll(file), file)
  show(members)
  expectConfirmation(options)
  const { steps, signed } = await withWallet(options, async ({ wallet }: Unlocked) => {
    const planned = await Plan.make(members, wallet, options)
    return { steps: planned, signed: await carryOut(planned, options, wallet.name) }
  })
  await write(options, steps, signed)
  return exitCodes.ok
}

/** In order; the first failure leaves everything unwritten. */
async function carryOut(
  steps: readonly Plan.Step[],
  options: Options,
  wallet: string,
): Promise<(Plan.Signed | undefined)[]> {
  const own = steps.filter(({ sign }) => sign !== undefined)
  if (own.length === 0) {
    const hint = 'name the key with --key, or the multisig with --multisig and --member'
    throw new CommandError(
      'failed',
      `the wallet ${wallet} has nothing to sign here; if an account was rekeyed or is a multisig, ${hint}`,
    )
  }
  say(...steps.map(({ text }, index) => `${titleOf(index, steps.length)} ${text}.`))
  await ask(
    options,
    own.flatMap(({ member }) => Description.describe(member.transaction).finalWarnings),
  )
  const signed: (Plan.Signed | undefined)[] = []
  for (const { sign } of steps) signed.push(await sign?.())
  return signed
}

async function write(
  options: Options,
  steps: readonly Plan.Step[],
  signed: readonly (Plan.Signed | undefined)[],
): Promise<void> {
  const bytes = Bytes.concat(steps.map(({ member }, index) => signed[index]?.bytes ?? Plan.asItCame(member)))
  for (const [index, one] of signed.entries()) {
    if (one !== undefined && one.missing > 0) {
      say(`${titleOf(index, steps.length)} needs ${one.missing} more signature${one.missing === 1 ? '' : 's'}.`)
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
    process.stdout.write(`${JSON.stringify(result)}\n`)
  } else if (options.out === undefined) await toStdout(bytes)
  else say(`Signed, in ${options.out}.`)
}

async function signProgram(options: Options, programFile: string, file: string | undefined): Promise<number> {
  const { key } = options
  if (file !== undefined) throw new UsageError('give a transaction or --program, not both')
  if (key === undefined) throw new UsageError('--program needs --key: the account that the program may act for')
  const program = await readAll(programFile)
  SignProgram.check(program, programFile)
  expectConfirmation(options)
  const signature = await withWallet(options, (unlocked) => SignProgram.sign(unlocked, program, key, options))
  const text = Buffer.from(signature).toString('base64')
  if (options.out !== undefined) toFile(options.out, Buffer.from(`${text}\n`))
  if (options.json) process.stdout.write(`${JSON.stringify({ key, signature: text, out: options.out ?? null })}\n`)
  else if (options.out === undefined) process.stdout.write(`${text}\n`)
  else say(`Signed, in ${options.out}.`)
  return exitCodes.ok
}
