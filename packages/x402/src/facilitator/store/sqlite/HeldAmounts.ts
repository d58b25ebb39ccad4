/** The amounts of verified and settling payments, over all processes that use a file. */
import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import type { Admission } from '../holdDecisions.js'
import type { HeldAhead, PaymentHold, Settlement } from '../Settlement.js'

/**
 * The additions of file version 5. Amounts are text in `costs`, because they have up to 64 bits. Settlements that are
 * pending in an older file count too.
 */
export const amountsMigration = (): string => `
  CREATE TABLE holds (
    place INTEGER PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE,
    network TEXT NOT NULL,
    payer TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    costs TEXT NOT NULL,
    fee_micro_algos INTEGER NOT NULL,
    fee_payer TEXT,
    is_paid_afterwards INTEGER NOT NULL,
    is_admitted INTEGER NOT NULL,
    is_settling INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX holds_of_payer ON holds (payer);
  CREATE INDEX holds_of_fee_payer ON holds (fee_payer) WHERE fee_payer IS NOT NULL;
  CREATE INDEX holds_until ON holds (until_ms);
  CREATE INDEX reserved_fees ON holds (pay_to, fee_micro_algos) WHERE is_admitted = 1 AND is_settling = 0;
  CREATE TABLE settled_payers (
    network TEXT NOT NULL,
    payer TEXT NOT NULL,
    settled_ms INTEGER NOT NULL,
    PRIMARY KEY (network, payer)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX settled_payers_by_time ON settled_payers (settled_ms);
  CREATE INDEX uncharged_settlements ON settlements (network) WHERE amount = '0' AND state = 'settled';
  INSERT INTO holds (transaction_id, network, payer, pay_to, costs, fee_micro_algos, is_paid_afterwards, is_admitted,
      is_settling, until_ms)
    SELECT transaction_id, network, payer, pay_to, json_array(json_array(asset, amount)),
      CAST(fee_micro_algos AS INTEGER), 0, 0, 1, ${settlingUntilMs} FROM settlements WHERE state = 'pending';
`

/** A settlement counts until it ends. */
const settlingUntilMs = Number.MAX_SAFE_INTEGER
/** How long the time of a payer's last settlement is kept. A simulation takes less. */
const settledKeptMs = 60_000

type Costs = readonly (readonly [asset: string, amount: string])[]
type FeeRow = { readonly all: number; readonly settling: number; readonly own: number; readonly payers: number }

/** Every method runs in a transaction of its caller. */
export class HeldAmounts {
  readonly #nowMs: () => number
  readonly #statements

  constructor(database: Sqlite.Database, nowMs: () => number) {
    this.#nowMs = nowMs
    const prepare = (sql: string) => database.prepare(sql)
    this.#statements = {
      add: prepare(
        `INSERT INTO holds (transaction_id, network, payer, pay_to, costs, fee_micro_algos, fee_payer,
           is_paid_afterwards, is_admitted, is_settling, until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      has: prepare('SELECT 1 FROM holds WHERE transaction_id = ?'),
      extend: prepare('UPDATE holds SET until_ms = max(until_ms, ?) WHERE transaction_id = ?'),
      admission: prepare(
        'SELECT is_paid_afterwards FROM holds WHERE transaction_id = ? AND is_admitted = 1 AND until_ms > ?',
      ),
      settle: prepare('UPDATE holds SET is_settling = 1, until_ms = ? WHERE transaction_id = ?'),
      delete: prepare('DELETE FROM holds WHERE transaction_id = ? AND is_settling = 0'),
      end: prepare('DELETE FROM holds WHERE transaction_id = ? AND is_settling = 1 RETURNING network, payer'),
      setSettled: prepare('INSERT OR REPLACE INTO settled_payers VALUES (?, ?, ?)'),
      settled: prepare('SELECT settled_ms FROM settled_payers WHERE network = ? AND payer = ? AND settled_ms > ?'),
      ahead: prepare(
        `SELECT costs, is_settling FROM holds
         WHERE payer = ?2 AND network = ?1 AND place < (SELECT place FROM holds WHERE transaction_id = ?3)`,
      ),
      fees: prepare(
        `SELECT coalesce(sum(fee_micro_algos) FILTER (WHERE is_ahead), 0) AS "all",
           coalesce(sum(fee_micro_algos) FILTER (WHERE is_ahead AND is_settling), 0) AS settling,
           coalesce(sum(fee_micro_algos) FILTER (WHERE is_ahead AND payer = ?3), 0) AS own,
           count(DISTINCT payer) AS payers
         FROM (SELECT *, place < (SELECT place FROM holds WHERE transaction_id = ?4) AS is_ahead
           FROM holds WHERE fee_payer = ?2 AND network = ?1)`,
      ),
      deleteHolds: prepare('DELETE FROM holds WHERE until_ms <= ?'),
      deleteSettled: prepare('DELETE FROM settled_payers WHERE settled_ms <= ?'),
    }
  }

  /** Deletes expired holds. All other methods count every row. */
  deleteExpired(): void {
    const now = this.#nowMs()
    this.#statements.deleteHolds.run(now)
    this.#statements.deleteSettled.run(now - settledKeptMs)
  }

  has(transactionId: string): boolean {
    return this.#statements.has.get(transactionId) !== undefined
  }

  extend({ transactionId, holdMs }: PaymentHold): void {
    this.#statements.extend.run(this.#untilMs(holdMs), transactionId)
  }

  add(hold: PaymentHold, { isAdmitted }: { readonly isAdmitted: boolean }): void {
    const costs = hold.costs.map(({ asset, amount }) => [asset, amount.toString()])
    this.#add(hold, JSON.stringify(costs), {
      ...hold,
      isAdmitted,
      isSettling: false,
      untilMs: this.#untilMs(hold.holdMs),
    })
  }

  #add(
    of: Pick<Settlement, 'transactionId' | 'network' | 'payer' | 'payTo' | 'feeMicroAlgos'>,
    costs: string,
    how: Pick<PaymentHold, 'feePayer' | 'isPaidAfterwards'> & {
      readonly isAdmitted: boolean
      readonly isSettling: boolean
      readonly untilMs: number
    },
  ): void {
    this.#statements.add.run(
      of.transactionId,
      of.network,
      of.payer,
      of.payTo,
      costs,
      of.feeMicroAlgos,
      how.feePayer ?? null,
      Number(how.isPaidAfterwards),
      Number(how.isAdmitted),
      Number(how.isSettling),
      how.untilMs,
    )
  }

  admission(transactionId: string): Admission | undefined {
    const row = this.#statements.admission.get(transactionId, this.#nowMs()) as
      | { is_paid_afterwards: number }
      | undefined
    return row && { isPaidAfterwards: Number(row.is_paid_afterwards) === 1 }
  }

  /** Marks a payment as settling. One whose hold has expired counts again. */
  settle(settlement: Settlement): void {
    const { transactionId, asset, amount } = settlement
    if (Number(this.#statements.settle.run(settlingUntilMs, transactionId).changes) > 0) return
    const how = { feePayer: undefined, isPaidAfterwards: false, isAdmitted: false, isSettling: true }
    this.#add(settlement, JSON.stringify([[asset, amount]]), { ...how, untilMs: settlingUntilMs })
  }

  /** Ends the amounts of a settlement. */
  end(transactionId: string, isSettled: boolean): void {
    const row = this.#statements.end.get(transactionId) as { network: string; payer: string } | undefined
    if (row !== undefined && isSettled) this.#statements.setSettled.run(row.network, row.payer, this.#nowMs())
  }

  /** Deletes a hold that is not settling. */
  delete(transactionId: string): void {
    this.#statements.delete.run(transactionId)
  }

  /** The amounts that were there before a payment that is held. */
  ahead({ transactionId, network, payer, feeMicroAlgos, feePayer }: PaymentHold): HeldAhead {
    const { ahead, fees, settled } = this.#statements
    const sums = new Map<string, { held: bigint; settling: bigint }>()
    for (const row of ahead.all(network, payer, transactionId) as { costs: string; is_settling: number }[]) {
      const part = Number(row.is_settling) === 1 ? 'settling' : 'held'
      for (const [asset, amount] of JSON.parse(row.costs) as Costs) {
        const sum = sums.get(asset) ?? { held: 0n, settling: 0n }
        sum[part] += BigInt(amount)
        sums.set(asset, sum)
      }
    }
    const now = this.#nowMs()
    const last = settled.get(network, payer, now - settledKeptMs) as { settled_ms: number } | undefined
    const settledAgoMs = last && Math.max(now - Number(last.settled_ms), 0)
    const costs = [...sums].map(([asset, sum]) => ({ asset, ...sum }))
    if (feeMicroAlgos === 0n || feePayer === undefined) {
      return { costs, settledAgoMs, fees: { all: 0n, settling: 0n, own: 0n, payers: 0 } }
    }
    const row = fees.get(network, feePayer, payer, transactionId) as FeeRow
    const [all, settling, own] = [row.all, row.settling, row.own].map(BigInt) as [bigint, bigint, bigint]
    return { costs, settledAgoMs, fees: { all, settling, own, payers: Number(row.payers) } }
  }

  #untilMs(holdMs: number): number {
    return Math.round(this.#nowMs() + Math.max(holdMs, 0))
  }
}
