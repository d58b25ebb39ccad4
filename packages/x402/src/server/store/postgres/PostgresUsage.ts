import type { PostgresConnection } from '../../../db/postgres/PostgresConnection.js'
import type { MeteredWork, NotedWork, ReturnedWork, UnpaidWork, UsageStore, WorkState } from '../UsageStore.js'

type WorkRow = {
  readonly transaction_id: string
  readonly payer: string
  readonly charge: string | bigint | number
  readonly settlement: string
}

/** Metered work in the database of the claims. Every call can be repeated after a lost response. */
export class PostgresUsage implements UsageStore {
  readonly #connection: PostgresConnection
  readonly #statements

  constructor(connection: PostgresConnection) {
    this.#connection = connection
    this.#statements = statementsOf(connection.quotedSchema)
  }

  async isUnpaid(payer: string): Promise<boolean> {
    const [row] = await this.#connection.read<{ is_unpaid: boolean }>(this.#statements.isUnpaid, [payer])
    return row!.is_unpaid
  }

  async countUnpaid(limit: number): Promise<number> {
    const [row] = await this.#connection.read<{ count: number }>(this.#statements.count, [limit])
    return Number(row!.count)
  }

  async begin({ transactionId, payer, charge, order }: MeteredWork, leaseMs: number): Promise<boolean> {
    const values = [transactionId, payer, charge.toString(), order, leaseMs]
    const [row] = await this.#connection.read<{ is_begun: boolean }>(this.#statements.begin, values)
    return row!.is_begun
  }

  async note({ transactionId, payer, charge }: NotedWork, leaseMs: number): Promise<WorkState> {
    const values = [transactionId, payer, charge.toString(), leaseMs]
    const [row] = await this.#connection.read<{ state: WorkState }>(this.#statements.note, values)
    return row!.state
  }

  async chargeOf(transactionId: string): Promise<bigint | undefined> {
    const [row] = await this.#connection.read<{ charge: string }>(this.#statements.charge, [transactionId])
    return row === undefined ? undefined : BigInt(row.charge)
  }

  async takeOver(transactionId: string): Promise<bigint | undefined> {
    const [row] = await this.#connection.read<{ charge: string }>(this.#statements.takeOver, [transactionId])
    return row === undefined ? undefined : BigInt(row.charge)
  }

  async giveBack({ transactionId, order }: ReturnedWork, afterMs: number): Promise<void> {
    await this.#connection.read(this.#statements.giveBack, [transactionId, order, afterMs])
  }

  async end(transactionId: string): Promise<void> {
    await this.#connection.read(this.#statements.end, [transactionId])
  }

  async leaveUnpaid({ transactionId, payer, refuseMs }: UnpaidWork): Promise<void> {
    await this.#connection.read(this.#statements.leaveUnpaid, [transactionId, payer, refuseMs])
  }

  async takeAbandoned(limit: number, leaseMs: number): Promise<MeteredWork[]> {
    const rows = await this.#connection.read<WorkRow>(this.#statements.takeAbandoned, [limit, leaseMs])
    return rows.map(({ transaction_id: transactionId, payer, charge, settlement: order }) => {
      return { transactionId, payer, charge: BigInt(charge), order }
    })
  }
}

function statementsOf(schema: string) {
  return {
    isUnpaid: { name: 'latchkey_usage_unpaid', text: `SELECT ${schema}.is_unpaid($1) AS is_unpaid` },
    count: { name: 'latchkey_usage_count', text: `SELECT ${schema}.count_unpaid($1) AS count` },
    begin: { name: 'latchkey_usage_begin', text: `SELECT ${schema}.begin_work($1, $2, $3, $4, $5) AS is_begun` },
    note: { name: 'latchkey_usage_note', text: `SELECT ${schema}.note_work($1, $2, $3, $4) AS state` },
    takeOver: {
      name: 'latchkey_usage_take_over',
      text: `UPDATE ${schema}.metered_work SET is_taken = true WHERE transaction_id = $1 RETURNING charge::text`,
    },
    giveBack: {
      name: 'latchkey_usage_give_back',
      text: `UPDATE ${schema}.metered_work SET settlement = $2, is_taken = true,
        until_at = clock_timestamp() + $3::bigint * interval '1 millisecond' WHERE transaction_id = $1`,
    },
    charge: {
      name: 'latchkey_usage_charge',
      text: `SELECT charge::text FROM ${schema}.metered_work WHERE transaction_id = $1`,
    },
    end: { name: 'latchkey_usage_end', text: `DELETE FROM ${schema}.metered_work WHERE transaction_id = $1` },
    leaveUnpaid: { name: 'latchkey_usage_leave', text: `SELECT ${schema}.leave_unpaid($1, $2, $3)` },
    takeAbandoned: {
      name: 'latchkey_usage_take',
      text: `SELECT transaction_id, payer, charge::text, settlement FROM ${schema}.take_abandoned($1, $2)`,
    },
  }
}
