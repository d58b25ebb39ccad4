/** Fees, which are pooled in a group. */
import type { Transaction } from '@latchkey/algorand'
import * as AlgodAmount from './AlgodAmount.js'
import * as Consensus from './Consensus.js'

const million = 1_000_000n
const usagePerNoteByte = 100n

/** In millionths of a minimum fee. */
export function usage({ note }: Transaction.Transaction): bigint {
  const paidBytes = Math.max(0, (note?.length ?? 0) - Consensus.freeNoteBytes)
  return million + usagePerNoteByte * BigInt(paidBytes)
}

export function groupUsage(group: readonly Transaction.Transaction[]): bigint {
  return group.reduce((sum, transaction) => sum + usage(transaction), 0n)
}

/** Sums the fees of a group. As on a node, the sum stops at the largest amount. */
export function paid(group: readonly Transaction.Transaction[]): bigint {
  const sum = group.reduce((sum, { fee }) => sum + (fee ?? 0n), 0n)
  return sum > Consensus.maxUint64 ? Consensus.maxUint64 : sum
}

export function required(usageMillionths: bigint): bigint {
  return (Consensus.minFeeMicroAlgos * usageMillionths + million - 1n) / million
}

/** Returns why a group pays too little, or undefined if it pays enough. */
export function shortfall(group: readonly Transaction.Transaction[]): string | undefined {
  const fees = paid(group)
  const used = groupUsage(group)
  const needed = required(used)
  if (fees >= needed) return undefined
  const usageText = `${used / million}.${(used % million).toString().padStart(6, '0')}`
  const base = AlgodAmount.format(Consensus.minFeeMicroAlgos)
  return `txgroup with ${AlgodAmount.format(fees)} fees is less than ${AlgodAmount.format(needed)} (usage=${usageText} * base=${base})`
}
