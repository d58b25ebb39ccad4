/** Converts settlements to rows and back. */
import type { SettlementLimits } from '../Settlement.js'
import type { Settlement, SettlementState } from '../Settlements.js'

/** The columns of {@link SettlementRow}. */
export const settlementColumns = `s.transaction_id, s.state, s.network, s.payer, s.pay_to, s.asset, s.amount, s.members,
  s.first_valid, s.last_valid, s.fee_micro_algos, s.claimant, s.round, s.error_reason, s.error_message, s.attempt,
  (extract(epoch FROM s.created_at) * 1000)::double precision AS created_ms`

/** A row of settlements. Numbers beyond 53 bits are text. */
export type SettlementRow = {
  readonly transaction_id: string
  readonly state: SettlementState
  readonly network: string
  readonly payer: string
  readonly pay_to: string
  readonly asset: string
  readonly amount: string
  readonly members: readonly Uint8Array[]
  readonly first_valid: string
  readonly last_valid: string
  readonly fee_micro_algos: string
  readonly claimant: string | null
  readonly round: string | null
  readonly error_reason: string | null
  readonly error_message: string | null
  readonly attempt: string
  readonly created_ms: number
}

export function settlementOf(row: SettlementRow): Settlement {
  return {
    transactionId: row.transaction_id,
    state: row.state,
    network: row.network,
    payer: row.payer,
    payTo: row.pay_to,
    asset: row.asset,
    amount: row.amount,
    group: row.members.map((member) => new Uint8Array(member)),
    firstValid: BigInt(row.first_valid),
    lastValid: BigInt(row.last_valid),
    feeMicroAlgos: BigInt(row.fee_micro_algos),
    round: row.round === null ? undefined : BigInt(row.round),
    errorReason: row.error_reason ?? undefined,
    errorMessage: row.error_message ?? undefined,
    claimant: row.claimant ?? undefined,
    createdMs: row.created_ms,
  }
}

/** A settlement and the random number of the call that records it, as an item of `claim_settlements`. */
export function claimItem(one: Settlement, attempt: string, n: number): object {
  return {
    n,
    id: one.transactionId,
    network: one.network,
    payer: one.payer,
    pay_to: one.payTo,
    asset: one.asset,
    amount: one.amount,
    members: one.group.map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')),
    first_valid: one.firstValid.toString(),
    last_valid: one.lastValid.toString(),
    fee: one.feeMicroAlgos.toString(),
    claimant: one.claimant ?? null,
    attempt,
  }
}

const maxCount = 2_000_000_000

/** The values of {@link limitsOf}. */
export function limitValues(limits: SettlementLimits): (string | number | null)[] {
  return [
    countOf(limits.payToPerMinute),
    countOf(limits.payerPerMinute),
    limits.feesPerPayTo?.toString() ?? null,
    limits.feesInAll?.toString() ?? null,
    countOf(limits.pendingPerPayer),
    countOf(limits.pendingPerPayTo),
  ]
}

/** A 32-bit integer, with room for one more. A fraction allows as much as the next integer. */
function countOf(limit: number | undefined): number | null {
  return limit === undefined ? null : Math.ceil(Math.min(limit, maxCount))
}

/** Limits as an SQL value whose parameters begin at `first`. */
export function limitsOf(schema: string, first: number): string {
  const types = ['integer', 'integer', 'numeric', 'numeric', 'integer', 'integer']
  const values = types.map((type, index) => `$${first + index}::${type}`)
  return `ROW(${values.join(', ')})::${schema}.settlement_limits`
}
