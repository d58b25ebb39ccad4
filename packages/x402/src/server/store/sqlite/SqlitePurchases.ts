import type * as Sqlite from '../../../db/sqlite/Sqlite.js'
import { type ClaimPurchase, isOther, type StoredPurchase } from '../Claims.js'

/** A table in the file of the claims. Versions of this program without purchases can still read the claims. */
const schema = `
  CREATE TABLE IF NOT EXISTS purchases (
    key TEXT PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE REFERENCES claims ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    binding TEXT NOT NULL,
    payload TEXT NOT NULL
  ) STRICT;
`

type Row = { transaction_id: string; fingerprint: string; binding: string; payload: string }

/** Purchases in the file of the claims. All methods are called in the transaction of a claim. */
export class SqlitePurchases {
  readonly #statements

  constructor(database: Sqlite.Database) {
    database.exec(schema)
    this.#statements = {
      read: database.prepare('SELECT transaction_id, fingerprint, binding, payload FROM purchases WHERE key = ?'),
      drop: database.prepare('DELETE FROM purchases WHERE key = ? AND transaction_id = ?'),
      // A payment belongs to the first purchase that it was claimed for.
      add: database.prepare('INSERT INTO purchases VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    }
  }

  /** Returns the payment that is the purchase, if it is another one. */
  other(transactionId: string, purchase: ClaimPurchase): StoredPurchase | undefined {
    const row = this.#statements.read.get(purchase.key) as Row | undefined
    if (row === undefined) return undefined
    const { fingerprint, binding, payload } = row
    const stored = { transactionId: row.transaction_id, fingerprint, binding, payload }
    return isOther(stored, transactionId, purchase) ? stored : undefined
  }

  add(transactionId: string, binding: string, { key, fingerprint, payload, replaces }: ClaimPurchase): void {
    if (replaces !== undefined) this.#statements.drop.run(key, replaces)
    this.#statements.add.run(key, transactionId, fingerprint, binding, payload)
  }
}
