import type { ClaimEnd, ClaimLease, ClaimResult, ClaimStore } from './Claims.js'
import * as Sqlite from './Sqlite.js'

const schema = `
  CREATE TABLE IF NOT EXISTS claims (
    transaction_id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('serving', 'open', 'served')),
    until_ms INTEGER NOT NULL,
    network TEXT NOT NULL,
    forget_round INTEGER NOT NULL,
    times INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS claims_by_round ON claims (network, forget_round);
`
/** How many claims are made between two deletions of old ones. */
const cleanEvery = 1_000

/** Claims in a file, shared by the processes of one machine. */
export class SqliteClaims implements ClaimStore {
  readonly #database: Sqlite.Database
  readonly #statements
  #count = 0

  /**
   * @param path the database file, created if it is missing
   * @throws {@link Sqlite.SqliteError} `sqlite_missing`
   */
  constructor(path: string) {
    this.#database = Sqlite.open(path)
    this.#database.exec(schema)
    const prepare = (sql: string) => this.#database.prepare(sql)
    this.#statements = {
      // One statement, so that exactly one of several processes succeeds.
      claim: prepare(
        `INSERT INTO claims VALUES (?1, ?2, 'serving', ?4, ?5, ?6, 1)
         ON CONFLICT (transaction_id)
         DO UPDATE SET owner = ?2, state = 'serving', until_ms = ?4, times = times + 1
         WHERE state = 'open' OR (state = 'serving' AND until_ms < ?3)
         RETURNING times`,
      ),
      end: prepare("UPDATE claims SET state = ?1 WHERE transaction_id = ?2 AND owner = ?3 AND state = 'serving'"),
      drop: prepare("DELETE FROM claims WHERE transaction_id = ? AND owner = ? AND state = 'serving'"),
      forget: prepare('DELETE FROM claims WHERE network = ? AND forget_round < ?'),
    }
  }

  claim(transactionId: string, { owner, nowMs, leaseMs, network, round, forgetRound }: ClaimLease): ClaimResult {
    if (this.#count++ % cleanEvery === 0) this.#statements.forget.run(network, round)
    const row = this.#statements.claim.get(transactionId, owner, nowMs, nowMs + leaseMs, network, forgetRound)
    if (row === undefined) return 'taken'
    return Number((row as { times: number | bigint }).times) === 1 ? 'new' : 'again'
  }

  finish(transactionId: string, owner: string, end: ClaimEnd): void {
    if (end === 'forgotten') this.#statements.drop.run(transactionId, owner)
    else this.#statements.end.run(end, transactionId, owner)
  }

  close(): void {
    this.#database.close()
  }
}
