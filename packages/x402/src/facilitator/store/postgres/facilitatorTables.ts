/**
 * Version 1 of the facilitator's tables.
 *
 * Uniqueness by transaction id: `settlements` is partitioned by the time of creation, so that old records are archived
 * by detaching a partition. A unique index of a partitioned table must contain that time. The primary key of
 * `pending_settlements`, which is not partitioned, decides which claim of an id wins: every claim inserts there first,
 * a second claim waits until the first has ended, and then looks in all partitions. An archived record is no longer
 * found. Archiving happens at least a day after creation, while a transaction is valid for 1,000 rounds (less than an
 * hour), and the ledger itself accepts no transaction id twice.
 *
 * Data that changes often is separate from large data: a lease or a rejection rewrites a row of 200 bytes, not the
 * record.
 */
export const facilitatorTables = `
CREATE TABLE {schema}.settlements (
  transaction_id text NOT NULL,
  created_at timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'settled', 'failed')),
  network text NOT NULL,
  payer text NOT NULL,
  pay_to text NOT NULL,
  asset text NOT NULL,
  amount text NOT NULL,
  members bytea[] NOT NULL,
  first_valid numeric(20, 0) NOT NULL,
  last_valid numeric(20, 0) NOT NULL,
  fee_micro_algos numeric(20, 0) NOT NULL,
  claimant text,
  round numeric(20, 0),
  error_reason text,
  error_message text,
  -- Tells a claim whose response was lost from that of another replica.
  attempt bigint NOT NULL,
  PRIMARY KEY (transaction_id, created_at)
) PARTITION BY RANGE (created_at);
-- Takes what no partition was created for in time: nothing is refused for that.
CREATE TABLE {schema}.settlements_default PARTITION OF {schema}.settlements DEFAULT;

CREATE TABLE {schema}.pending_settlements (
  transaction_id text PRIMARY KEY,
  created_at timestamptz NOT NULL,
  payer text NOT NULL,
  pay_to text NOT NULL,
  is_rejected boolean NOT NULL DEFAULT false,
  lease_owner text NOT NULL,
  lease_until timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX pending_of_payer ON {schema}.pending_settlements (payer);
CREATE INDEX pending_of_pay_to ON {schema}.pending_settlements (pay_to) WHERE NOT is_rejected;

-- Fees of parts of a day; an empty pay_to is all of them. Replicas add in slots of their own, so that none waits for
-- another where there is no limit.
CREATE TABLE {schema}.settlement_fees (
  pay_to text NOT NULL,
  part bigint NOT NULL,
  slot smallint NOT NULL,
  micro_algos numeric(30, 0) NOT NULL,
  PRIMARY KEY (pay_to, part, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Settlements in seconds, where there is a limit.
CREATE TABLE {schema}.settlement_rates (
  name text NOT NULL,
  part bigint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (name, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- What is verified and not settled. Not in the log of the server, because a payment that is verified again costs little: a
-- crash of the server empties these tables.
CREATE UNLOGGED TABLE {schema}.holds (
  transaction_id text PRIMARY KEY,
  place bigint GENERATED ALWAYS AS IDENTITY,
  network text NOT NULL,
  payer text NOT NULL,
  claimant text NOT NULL,
  costs jsonb NOT NULL,
  fee_micro_algos numeric(20, 0) NOT NULL,
  fee_payer text,
  until timestamptz NOT NULL,
  is_settling boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX holds_of_payer ON {schema}.holds (payer);
CREATE INDEX holds_of_fee_payer ON {schema}.holds (fee_payer) WHERE fee_payer IS NOT NULL;
-- When a payment of a payer was settled last, for a minute.
CREATE UNLOGGED TABLE {schema}.settled_payers (
  network text NOT NULL,
  payer text NOT NULL,
  settled_at timestamptz NOT NULL,
  PRIMARY KEY (network, payer)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNLOGGED TABLE {schema}.caller_rates (
  name text NOT NULL,
  part bigint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (name, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The arguments of functions.
CREATE TYPE {schema}.claim_item AS (
  n integer, id text, network text, payer text, pay_to text, asset text, amount text, members text[],
  first_valid numeric, last_valid numeric, fee numeric, claimant text, attempt bigint
);
CREATE TYPE {schema}.settlement_limits AS (
  pay_to_per_minute integer, payer_per_minute integer, fees_per_pay_to numeric, fees_in_all numeric,
  pending_per_payer integer, pending_per_pay_to integer
);
CREATE TYPE {schema}.hold_item AS (
  n integer, id text, network text, payer text, pay_to text, claimant text, costs jsonb, fee numeric, fee_payer text, hold_ms integer
);
`

/** The rights of a role at run time. The role can neither delete a settlement nor change the tables. */
export const facilitatorGrants = [
  'GRANT SELECT, INSERT, UPDATE ON {schema}.settlements TO {role}',
  'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.pending_settlements, {schema}.settlement_fees, {schema}.settlement_rates, {schema}.holds, {schema}.settled_payers, {schema}.caller_rates TO {role}',
  'GRANT EXECUTE ON FUNCTION {schema}.create_partitions() TO {role}',
  'GRANT EXECUTE ON FUNCTION {schema}.archive_settlements(timestamptz, boolean) TO {role}',
]
