/**
 * Whom verified payments belong to. Logged, unlike the amounts of holds: after a crash of the server, a payment still
 * belongs to the gate that works for it. A row ends with the record of the settlement, which has the claimant too, or
 * when the ledger has passed the last valid round.
 */
export const claimantTable = `
CREATE TABLE {schema}.claimants (
  transaction_id text PRIMARY KEY,
  network text NOT NULL,
  claimant text NOT NULL,
  last_valid numeric(20, 0) NOT NULL
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX claimants_by_round ON {schema}.claimants (network, last_valid);
ALTER TYPE {schema}.hold_item ADD ATTRIBUTE last_valid numeric, ADD ATTRIBUTE is_paid_afterwards boolean;
`

export const claimantGrants = ['GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.claimants TO {role}']

/** The statements of {@link PostgresHolds} on the table. */
export function claimantStatements(schema: string) {
  const statement = (name: string, text: string) => ({ name: `latchkey_claimants_${name}`, text })
  return {
    get: statement('get', `SELECT claimant FROM ${schema}.claimants WHERE transaction_id = $1`),
    release: statement(
      'release',
      `WITH own AS (DELETE FROM ${schema}.claimants WHERE transaction_id = $1 AND claimant = $2 RETURNING transaction_id)
       DELETE FROM ${schema}.holds WHERE transaction_id IN (SELECT transaction_id FROM own) AND NOT is_settling`,
    ),
    forget: statement(
      'forget',
      `DELETE FROM ${schema}.claimants WHERE transaction_id IN (SELECT transaction_id FROM ${schema}.claimants
         WHERE network = $1 AND last_valid < $2::numeric LIMIT 50000 FOR UPDATE SKIP LOCKED)`,
    ),
  }
}
