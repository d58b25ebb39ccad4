/** Fees, which are pooled in a group. */
import { Bytes, type Submission, type Transaction } from '@latchkey/algorand'
import * as Consensus from './Consensus.js'

/** A signed transaction, as far as its fee depends on it. */
export type Paying = Pick<Submission.Submitted, 'txn' | 'lsig' | 'pqsig'>

const million = 1_000_000n
const usagePerByte = 100n
/**
 * Of a post-quantum signature, by its scheme, in addition to that of its transaction. The scheme `f2` has a usage
 * already, although no signature of it is accepted yet.
 */
const postQuantumUsage: ReadonlyMap<string, bigint> = new Map([
  ['f1', 2_000_000n],
  ['f2', 1_000_000n],
])

/** In millionths of a minimum fee. The size of logic signatures counts for the whole group. */
export function usage({ note, apaa, apap, apsu }: Transaction.Transaction): bigint {
  let paidBytes = over(note?.length ?? 0, Consensus.freeNoteBytes)
  if (apaa !== undefined) paidBytes += over(sum(apaa), Consensus.freeArgumentBytes)
  if (apap !== undefined || apsu !== undefined) {
    paidBytes += over((apap?.length ?? 0) + (apsu?.length ?? 0), Consensus.freeProgramBytes)
  }
  return million + usagePerByte * BigInt(paidBytes)
}

export function groupUsage(group: readonly Paying[]): bigint {
  let logicBytes = 0
  let used = 0n
  for (const { txn, lsig, pqsig } of group) {
    used += usage(txn)
    const scheme = (pqsig ?? lsig?.pqsig)?.sch
    if (scheme !== undefined) used += postQuantumUsage.get(Bytes.toUtf8(scheme) ?? '') ?? 0n
    logicBytes += lsig?.l?.length ?? 0
  }
  return used + usagePerByte * BigInt(over(logicBytes, Consensus.freeLogicBytes * group.length))
}

function over(bytes: number, free: number): number {
  return Math.max(0, bytes - free)
}

function sum(list: readonly Uint8Array[]): number {
  return list.reduce((total, { length }) => total + length, 0)
}

/** Sums the fees of a group. As on a node, the sum stops at the largest amount. */
export function paid(group: readonly Paying[]): bigint {
  const fees = group.reduce((total, { txn }) => total + (txn.fee ?? 0n), 0n)
  return fees > Consensus.maxUint64 ? Consensus.maxUint64 : fees
}

export function required(usageMillionths: bigint): bigint {
  return (Consensus.minFeeMicroAlgos * usageMillionths + million - 1n) / million
}

/** Returns why a group pays too little, or undefined if it pays enough. */
export function shortfall(group: readonly Paying[]): string | undefined {
  const fees = paid(group)
  const used = groupUsage(group)
  const needed = required(used)
  if (fees >= needed) return undefined
  const usageText = `${used / million}.${(used % million).toString().padStart(6, '0')}`
  const base = formatMicroAlgos(Consensus.minFeeMicroAlgos)
  return `txgroup with ${formatMicroAlgos(fees)} fees is less than ${formatMicroAlgos(needed)} (usage=${usageText} * base=${base})`
}

/** Formats microAlgos as in algod's messages: `0.0A`, `999uA`, `1mA`, `1.500mA`, `2A`, `2.500000A`. */
export function formatMicroAlgos(microAlgos: bigint): string {
  if (microAlgos === 0n) return '0.0A'
  if (microAlgos < 1_000n) return `${microAlgos}uA`
  if (microAlgos < 1_000_000n) return inUnits(microAlgos, 1_000n, 3, 'mA')
  return inUnits(microAlgos, 1_000_000n, 6, 'A')
}

function inUnits(microAlgos: bigint, unit: bigint, digits: number, name: string): string {
  const fraction = microAlgos % unit
  const whole = microAlgos / unit
  return fraction === 0n ? `${whole}${name}` : `${whole}.${fraction.toString().padStart(digits, '0')}${name}`
}
