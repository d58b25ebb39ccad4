/** Evaluates recorded logic signatures. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Transaction } from '@latchkey/algorand'
import { fromHex } from '../recorded.test.helper.js'
import { checkProgram } from './checkProgram.js'
import { evaluateSignature, rejectionOf } from './evaluateSignature.js'
import type { BlockHeader, Ledger } from './Ledger.js'
import { encodeUint64, type Value } from './Value.js'

/** A recorded evaluation. */
export type Case = {
  readonly id: string
  readonly ctx: string
  readonly gi?: number
  readonly args?: readonly string[]
  readonly program: string
  readonly check?: string
  readonly pass: boolean
  readonly err?: string
  readonly pc: number
  readonly cost: number
  readonly stack: readonly string[]
  readonly scratch?: { readonly [slot: string]: string }
}

const here = dirname(fileURLToPath(import.meta.url))
const folder = process.env.LATCHKEY_AVM_CASES ?? join(here, '..', '..', 'src', 'testdata')
const contexts = JSON.parse(readFileSync(join(folder, 'contexts.json'), 'utf8')) as {
  readonly consensus: string
  readonly groups: { readonly [name: string]: readonly string[] }
}
const groups = new Map(
  Object.entries(contexts.groups).map(([name, transactions]) => [
    name,
    transactions.map((text) => Transaction.decode(Buffer.from(text, 'base64'))),
  ]),
)

const sha256 = (...parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(createHash('sha256').update(Buffer.concat(parts)).digest())

const derived = (label: string, value: bigint): Uint8Array => sha256(Buffer.from(label), encodeUint64(value))

const ledger: Ledger = {
  genesisHash: derived('genesis', 0n),
  blockHeader: (round): BlockHeader => ({
    seed: derived('seed', round),
    timestamp: 1_600_000_000n + 3n * round,
    branch: derived('branch', round),
    branch512: Buffer.concat([derived('branch512a', round), derived('branch512b', round)]),
    proposer: derived('proposer', round),
    feesCollected: 1000n * round,
    bonus: 10_000_000n + round,
    proposerPayout: 5_000_000n + round,
    feeSink: derived('account', 99n),
    protocol: contexts.consensus,
    transactionCounter: 1000n + 7n * round,
    sha512_256Commitment: derived('commit', round),
    sha256Commitment: derived('commit256', round),
    sha512Commitment: Buffer.concat([derived('commit512a', round), derived('commit512b', round)]),
  }),
}

/** Cases that differ: of a failed `substring` of an `itob`, the reference leaves the number. */
export const differing: ReadonlySet<string> = new Set(['lsig-damaged-1181', 'lsig-random-3544'])

/** Evaluates and checks the program of a case, and returns what the case records. */
export function outcomeOf({ id, ctx, gi = 0, args = [], program: hex }: Case): Case {
  const group = groups.get(ctx)!
  const program = fromHex(hex)
  const check = checkProgram(program, { mode: 'signature', group })
  const evaluation = evaluateSignature({ program, args: args.map(fromHex), group, index: gi, ledger })
  const err = evaluation.error === undefined ? undefined : rejectionOf(evaluation)
  const slots = evaluation.scratch.map((value, slot) => [slot, textOf(value)] as const)
  const used = slots.filter(([, text]) => text !== '0')
  return {
    id,
    ctx,
    ...(gi !== 0 && { gi }),
    ...(args.length > 0 && { args }),
    program: hex,
    ...(check !== undefined && { check }),
    pass: evaluation.isAccepted,
    ...(err !== undefined && { err }),
    pc: evaluation.pc,
    cost: evaluation.cost,
    stack: evaluation.stack.map(textOf),
    ...(used.length > 0 && { scratch: Object.fromEntries(used) }),
  }
}

const maxShownBytes = 160

function textOf(value: Value): string {
  if (typeof value === 'bigint') return String(value)
  if (value.length <= maxShownBytes) return `0x${Buffer.from(value).toString('hex')}`
  return `#${value.length}:${Buffer.from(sha256(value)).toString('hex')}`
}
