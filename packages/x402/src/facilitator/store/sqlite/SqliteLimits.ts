import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import type { Settlement, SettlementLimits } from '../Settlement.js'
import { feePeriod, lastEnded, partOf, type RollingPeriod, ratePeriod } from '../Settlements.js'

type Counted = Pick<Settlement, 'payer' | 'payTo' | 'feeMicroAlgos'>

/**
 * The additions of file version 3: separate sums, so that a claim reads a few rows instead of those of a day. Fees that
 * were counted before still count. Older rows, which may be many, are not rewritten.
 */
export const limitsMigration = (nowMs: number): string => `
  ALTER TABLE settlements ADD COLUMN is_rejected INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE settlements ADD COLUMN fee_part_ms INTEGER;
  DROP INDEX paid_settlements;
  CREATE INDEX pending_of_payer ON settlements (payer) WHERE state = 'pending';
  CREATE INDEX pending_of_pay_to ON settlements (pay_to) WHERE state = 'pending' AND is_rejected = 0;
  CREATE TABLE settlement_fees (
    pay_to TEXT NOT NULL,
    part_ms INTEGER NOT NULL,
    micro_algos INTEGER NOT NULL,
    PRIMARY KEY (pay_to, part_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE settlement_rates (
    name TEXT NOT NULL,
    part_ms INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (name, part_ms)
  ) STRICT, WITHOUT ROWID;
  UPDATE settlements SET fee_part_ms = created_ms - created_ms % ${feePeriod.partMs}
    WHERE created_ms > ${lastEnded(nowMs, feePeriod)};
  INSERT INTO settlement_fees
    SELECT pay_to, fee_part_ms, sum(CAST(fee_micro_algos AS INTEGER)) FROM settlements
    WHERE fee_part_ms IS NOT NULL AND state <> 'failed' AND fee_micro_algos <> '0' GROUP BY 1, 2;
  INSERT INTO settlement_fees SELECT '', part_ms, sum(micro_algos) FROM settlement_fees GROUP BY 2;
`

const allSellers = ''

/**
 * The counts for the limits, over all processes that use the file. Every method runs in a transaction of its caller.
 */
export class SqliteLimits {
  readonly #nowMs: () => number
  readonly #statements
  #ratesDeletedMs: number

  constructor(database: Sqlite.Database, nowMs: () => number) {
    this.#nowMs = nowMs
    this.#ratesDeletedMs = nowMs()
    const prepare = (sql: string) => database.prepare(sql)
    const add = (table: string, key: string, value: string) =>
      prepare(
        `INSERT INTO ${table} VALUES (?1, ?2, ?3)
         ON CONFLICT (${key}, part_ms) DO UPDATE SET ${value} = ${value} + ?3`,
      )
    // Counts no more than the limit, because the rest would not change the result.
    const count = (condition: string) => `(SELECT count(*) FROM (SELECT 1 FROM settlements WHERE ${condition}))`
    this.#statements = {
      addFee: add('settlement_fees', 'pay_to', 'micro_algos'),
      addRate: add('settlement_rates', 'name', 'count'),
      fees: prepare(
        'SELECT coalesce(sum(micro_algos), 0) AS sum FROM settlement_fees WHERE pay_to = ? AND part_ms > ?',
      ),
      rate: prepare('SELECT coalesce(sum(count), 0) AS sum FROM settlement_rates WHERE name = ? AND part_ms > ?'),
      // In one statement, because each one locks the file.
      pending: prepare(
        `SELECT ${count("state = 'pending' AND payer = ?1 LIMIT ?2")} AS of_payer,
           ${count("state = 'pending' AND is_rejected = 0 AND pay_to = ?3 LIMIT ?4")} AS of_pay_to`,
      ),
      reserved: prepare(
        `SELECT coalesce(sum(fee_micro_algos), 0) AS sum FROM holds
         WHERE is_admitted = 1 AND is_settling = 0 AND pay_to = ? AND until_ms > ?`,
      ),
      reservedInAll: prepare(
        `SELECT coalesce(sum(fee_micro_algos), 0) AS sum FROM holds
         WHERE is_admitted = 1 AND is_settling = 0 AND until_ms > ?`,
      ),
      deleteFees: prepare('DELETE FROM settlement_fees WHERE part_ms <= ?'),
      deleteRates: prepare('DELETE FROM settlement_rates WHERE part_ms <= ?'),
    }
  }

  /** Writes a row that no limit counts, to find out whether the file can be written. */
  countPing(): void {
    this.#statements.addRate.run('ping', 0, 1)
  }

  check({ payer, payTo, feeMicroAlgos }: Counted, limits: SettlementLimits): keyof SettlementLimits | undefined {
    const { feesInAll, feesPerPayTo, payerPerMinute, payToPerMinute, pendingPerPayer, pendingPerPayTo } = limits
    if (feeMicroAlgos > 0n) {
      if (feesInAll !== undefined && this.#feesOf(allSellers) + feeMicroAlgos > feesInAll) return 'feesInAll'
      if (feesPerPayTo !== undefined && this.#feesOf(payTo) + feeMicroAlgos > feesPerPayTo) return 'feesPerPayTo'
    }
    if (payerPerMinute !== undefined && this.#rateOf(payerName(payer)) >= payerPerMinute) return 'payerPerMinute'
    if (payToPerMinute !== undefined && this.#rateOf(payToName(payTo)) >= payToPerMinute) return 'payToPerMinute'
    if (pendingPerPayer === undefined && pendingPerPayTo === undefined) return undefined
    const values = [payer, pendingPerPayer ?? 0, payTo, pendingPerPayTo ?? 0]
    const pending = this.#statements.pending.get(...values) as { of_payer: number; of_pay_to: number }
    if (pendingPerPayer !== undefined && Number(pending.of_payer) >= pendingPerPayer) return 'pendingPerPayer'
    if (pendingPerPayTo !== undefined && Number(pending.of_pay_to) >= pendingPerPayTo) return 'pendingPerPayTo'
    return undefined
  }

  /** The part of the day that a fee counts in now. */
  feePart(): number {
    return partOf(this.#nowMs(), feePeriod)
  }

  /** Counts a payment in the current minute, where there is a limit. */
  countRates({ payer, payTo }: Counted, { payerPerMinute, payToPerMinute }: SettlementLimits): void {
    const { addRate } = this.#statements
    const second = partOf(this.#nowMs(), ratePeriod)
    if (payerPerMinute !== undefined) addRate.run(payerName(payer), second, 1)
    if (payToPerMinute !== undefined) addRate.run(payToName(payTo), second, 1)
    this.#deleteRates()
  }

  /** Changes the fees of a part of the day. A part that no longer counts is not changed. */
  changeFee(payTo: string, partMs: number, microAlgos: bigint): void {
    if (microAlgos === 0n || partMs <= this.#endedOf(feePeriod)) return
    for (const key of [payTo, allSellers]) this.#statements.addFee.run(key, partMs, microAlgos)
  }

  deleteOld(): void {
    this.#statements.deleteFees.run(this.#endedOf(feePeriod))
  }

  #deleteRates(): void {
    const now = this.#nowMs()
    if (Math.abs(now - this.#ratesDeletedMs) < ratePeriod.periodMs) return
    this.#ratesDeletedMs = now
    this.#statements.deleteRates.run(this.#endedOf(ratePeriod))
  }

  #endedOf(period: RollingPeriod): number {
    return lastEnded(this.#nowMs(), period)
  }

  /** What was spent, and what is reserved for held payments. */
  #feesOf(key: string): bigint {
    const { fees, reserved, reservedInAll } = this.#statements
    const now = this.#nowMs()
    const spent = fees.get(key, this.#endedOf(feePeriod)) as { sum: number }
    const held = (key === allSellers ? reservedInAll.get(now) : reserved.get(key, now)) as { sum: number }
    return BigInt(spent.sum) + BigInt(held.sum)
  }

  #rateOf(name: string): number {
    return Number((this.#statements.rate.get(name, this.#endedOf(ratePeriod)) as { sum: number }).sum)
  }
}

function payerName(payer: string): string {
  return `payer ${payer}`
}

function payToName(payTo: string): string {
  return `payTo ${payTo}`
}
