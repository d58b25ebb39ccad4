/** Fees, in millionths of a microAlgo: usage of less than a whole minimum fee is carried from group to group. */
import type { Transaction } from '@latchkey/algorand'
import { freeArgumentBytes, freeNoteBytes, freeProgramBytes } from './limits.js'

const million = 1_000_000n
const usagePerByte = 100n

/** The usage of a transaction in millionths of a minimum fee, without its logic signature. */
export function usage(transaction: Transaction.Transaction): bigint {
  const { note, apaa, apap, apsu } = transaction
  let paidBytes = Math.max(0, (note?.length ?? 0) - freeNoteBytes)
  if (apaa !== undefined) {
    paidBytes += Math.max(0, apaa.reduce((sum, { length }) => sum + length, 0) - freeArgumentBytes)
  }
  if (apap !== undefined || apsu !== undefined) {
    paidBytes += Math.max(0, (apap?.length ?? 0) + (apsu?.length ?? 0) - freeProgramBytes)
  }
  return million + usagePerByte * BigInt(paidBytes)
}

/** Sums the fees of transactions. */
export function paid(transactions: readonly Transaction.Transaction[]): bigint {
  return transactions.reduce((sum, { fee = 0n }) => sum + fee, 0n)
}

/** Returns what a group pays above what its usage costs, in millionths of a microAlgo. Negative if it pays too little. */
export function surplus(paidMicroAlgos: bigint, usageMillionths: bigint, minFee: bigint): bigint {
  return paidMicroAlgos * million - usageMillionths * minFee
}

/** Rounds millionths up to microAlgos. */
export function inMicroAlgos(millionths: bigint): bigint {
  return (millionths + million - 1n) / million
}

/** Formats microAlgos as algod's messages do: `0.0A`, `999uA`, `1mA`, `1.500mA`, `2A`, `2.500000A`. */
export function format(microAlgos: bigint): string {
  if (microAlgos === 0n) return '0.0A'
  if (microAlgos < 1000n) return `${microAlgos}uA`
  if (microAlgos < million) return inUnits(microAlgos, 1000n, 3, 'mA')
  return inUnits(microAlgos, million, 6, 'A')
}

function inUnits(microAlgos: bigint, unit: bigint, digits: number, name: string): string {
  const fraction = microAlgos % unit
  const whole = microAlgos / unit
  return fraction === 0n ? `${whole}${name}` : `${whole}.${fraction.toString().padStart(digits, '0')}${name}`
}
