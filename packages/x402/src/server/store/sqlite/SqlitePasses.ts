import { naming } from '../../../db/StoreError.js'
import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import { cleanEvery, type IssuedPass, type NewPass, type PassStore, type TakeResult } from '../PassStore.js'

/** A table in the file of the claims. Versions of this program without passes can still read the claims. */
const schema = `
  CREATE TABLE IF NOT EXISTS passes (
    transaction_id TEXT PRIMARY KEY,
    until_ms INTEGER NOT NULL,
    -- Null if they are not counted.
    requests INTEGER,
    taken INTEGER NOT NULL CHECK (taken >= 0 AND (requests IS NULL OR taken <= requests))
  ) STRICT;
  CREATE INDEX IF NOT EXISTS passes_by_time ON passes (until_ms);
`

type Row = { until_ms: number | bigint; requests: number | bigint | null; taken: number | bigint }

/**
 * Passes in the file of the claims, shared by the processes of one machine. Each method needs one or two statements.
 */
export class SqlitePasses implements PassStore {
  readonly #path: string
  readonly #statements
  #count = 0

  constructor(path: string, database: Sqlite.Database) {
    this.#path = path
    naming(path, () => database.exec(schema))
    this.#statements = {
      insert: database.prepare('INSERT INTO passes VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING'),
      read: database.prepare('SELECT until_ms, requests, taken FROM passes WHERE transaction_id = ?'),
      take: database.prepare(
        `UPDATE passes SET taken = taken + 1 WHERE transaction_id = ? AND taken < requests AND until_ms > ?
         RETURNING until_ms, requests, taken`,
      ),
      giveBack: database.prepare('UPDATE passes SET taken = taken - 1 WHERE transaction_id = ? AND taken > 0'),
      // The payment of a pass can be sent again as long as it is claimed, and must find the pass as it was issued.
      clean: database.prepare(
        'DELETE FROM passes WHERE until_ms <= ? AND transaction_id NOT IN (SELECT transaction_id FROM claims)',
      ),
    }
  }

  issue(id: string, { nowMs, untilMs, requests }: NewPass): IssuedPass {
    return naming(this.#path, () => {
      if (++this.#count % cleanEvery === 0) this.#statements.clean.run(nowMs)
      this.#statements.insert.run(id, untilMs, requests ?? null)
      const row = this.#statements.read.get(id) as Row
      return { untilMs: Number(row.until_ms), requestsLeft: leftOf(row) }
    })
  }

  take(id: string, nowMs: number): TakeResult {
    return naming(this.#path, () => {
      const [taken] = this.#statements.take.all(id, nowMs) as Row[]
      if (taken !== undefined) return { type: 'taken', requestsLeft: leftOf(taken)! }
      const row = this.#statements.read.get(id) as Row | undefined
      const isOpen = row !== undefined && row.requests !== null && Number(row.until_ms) > nowMs
      return { type: isOpen ? 'used_up' : 'unknown' }
    })
  }

  giveBack(id: string): void {
    naming(this.#path, () => this.#statements.giveBack.run(id))
  }
}

function leftOf({ requests, taken }: Row): number | undefined {
  return requests === null ? undefined : Number(requests) - Number(taken)
}
