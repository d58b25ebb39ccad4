import { Bytes } from '@latchkey/algorand'
import type { PostgresConnection, Statement } from '../../../db/postgres/PostgresConnection.js'
import { PostgresError } from '../../../db/postgres/PostgresError.js'
import type { IssuedPass, NewPass, PassStore, TakeResult } from '../PassStore.js'

/**
 * Passes in the database of the claims. The clock of the database decides when they expire. `nowMs` and `untilMs` of a
 * new pass determine its duration.
 */
export class PostgresPasses implements PassStore {
  readonly #connection: PostgresConnection
  readonly #statements

  constructor(connection: PostgresConnection) {
    this.#connection = connection
    const schema = connection.quotedSchema
    this.#statements = {
      issue: { name: 'latchkey_pass_issue', text: `SELECT * FROM ${schema}.issue_pass($1, $2, $3)` },
      take: { name: 'latchkey_pass_take', text: `SELECT * FROM ${schema}.take_pass($1, $2, $3)` },
      giveBack: { name: 'latchkey_pass_give_back', text: `SELECT ${schema}.give_back_pass($1, $2, $3)` },
    }
  }

  async issue(id: string, { nowMs, untilMs, requests }: NewPass): Promise<IssuedPass> {
    const [row] = await this.#connection.read<{ o_until_ms: string; o_left: number | null }>(this.#statements.issue, [
      id,
      untilMs - nowMs,
      requests ?? null,
    ])
    return { untilMs: Number(row!.o_until_ms), requestsLeft: row!.o_left ?? undefined }
  }

  async take(id: string): Promise<TakeResult> {
    const [row] = await this.#once<{ o_result: TakeResult['type']; o_left: number }>(this.#statements.take, id)
    const { o_result: type, o_left: requestsLeft } = row!
    return type === 'taken' ? { type, requestsLeft } : { type }
  }

  async giveBack(id: string): Promise<void> {
    await this.#once(this.#statements.giveBack, id)
  }

  /** Counts once: a call whose response was lost is repeated under its name, which the pass remembers. */
  async #once<R extends object>(statement: Statement, id: string): Promise<R[]> {
    const call = Bytes.toHex(Bytes.random(12))
    try {
      return await this.#connection.write<R>(statement, [id, call, false])
    } catch (error) {
      if (!(error instanceof PostgresError && error.isOutcomeUnknown)) throw error
      return await this.#connection.read<R>(statement, [id, call, true])
    }
  }
}
