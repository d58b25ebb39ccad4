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

/**
 * What a hold counts for: its fee, and whether its settlement meets no limit. The columns of the index never change, so
 * that an update rewrites no index.
 */
export const admissionColumns = `
ALTER TABLE {schema}.holds ADD COLUMN pay_to text, ADD COLUMN is_admitted boolean NOT NULL DEFAULT false,
  ADD COLUMN is_paid_afterwards boolean NOT NULL DEFAULT false;
CREATE INDEX holds_of_pay_to ON {schema}.holds (pay_to) WHERE is_admitted AND fee_micro_algos > 0;
`

/** The rights of a role at run time. The role can neither delete a settlement nor change the tables. */
export const facilitatorGrants = [
  'GRANT SELECT, INSERT, UPDATE ON {schema}.settlements TO {role}',
  'GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.pending_settlements, {schema}.settlement_fees, {schema}.settlement_rates, {schema}.holds, {schema}.settled_payers, {schema}.caller_rates TO {role}',
  'GRANT EXECUTE ON FUNCTION {schema}.create_partitions() TO {role}',
  'GRANT EXECUTE ON FUNCTION {schema}.archive_settlements(timestamptz, boolean) TO {role}',
]

/**
 * Weekly partitions. These functions run with the rights of the owner, because a role that uses the tables at run time
 * need not be able to create or drop partitions.
 */
export const facilitatorPartitions = `
CREATE OR REPLACE FUNCTION {schema}.create_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  week timestamptz;
  name text;
BEGIN
  FOR ahead IN 0..2 LOOP
    week := (date_trunc('week', clock_timestamp() AT TIME ZONE 'UTC') + ahead * interval '7 days') AT TIME ZONE 'UTC';
    name := 'settlements_' || to_char(week AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN EXISTS (SELECT FROM pg_class c WHERE c.relname = name AND c.relnamespace = '{schema}'::regnamespace);
    BEGIN
      EXECUTE format('CREATE TABLE IF NOT EXISTS {schema}.%I PARTITION OF {schema}.settlements FOR VALUES FROM (%L) TO (%L)',
        name, week, week + interval '7 days');
    EXCEPTION
      -- Another replica creates it, is using the table, or the default partition has rows of that week.
      WHEN lock_not_available OR duplicate_table OR check_violation OR unique_violation THEN NULL;
    END;
  END LOOP;
END $$;

-- What came while its week had no partition. Not all at once: the next call continues.
CREATE OR REPLACE FUNCTION {schema}.archive_default(before timestamptz, is_dropped boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  rows tid[];
BEGIN
  rows := ARRAY(SELECT s.ctid FROM {schema}.settlements_default s WHERE s.created_at < before
    AND NOT EXISTS (SELECT FROM {schema}.pending_settlements p WHERE p.transaction_id = s.transaction_id)
    LIMIT 20000 FOR UPDATE OF s SKIP LOCKED);
  IF cardinality(rows) = 0 THEN RETURN; END IF;
  IF NOT is_dropped THEN
    CREATE TABLE IF NOT EXISTS {schema}.archived_settlements_default (LIKE {schema}.settlements);
    INSERT INTO {schema}.archived_settlements_default SELECT * FROM {schema}.settlements_default WHERE ctid = ANY (rows);
  END IF;
  DELETE FROM {schema}.settlements_default WHERE ctid = ANY (rows);
END $$;

CREATE OR REPLACE FUNCTION {schema}.archive_settlements(before timestamptz, is_dropped boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  part record;
  has_pending boolean;
  archived integer := 0;
BEGIN
  -- One replica at a time; the others have nothing to do.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('archive {schema}', 404)) THEN RETURN 0; END IF;
  -- Never what may still matter, whatever the clock of the caller says.
  before := least(before, clock_timestamp() - interval '1 day 1 hour');
  PERFORM {schema}.archive_default(before, is_dropped);
  FOR part IN
    SELECT c.relname AS name, to_timestamp(substr(c.relname, 13) || '+00', 'YYYYMMDDTZH') AS week
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = '{schema}.settlements'::regclass AND c.relname ~ '^settlements_[0-9]{8}$'
    ORDER BY 1
  LOOP
    CONTINUE WHEN part.week + interval '7 days' > before;
    BEGIN
      LOCK TABLE {schema}.settlements IN ACCESS EXCLUSIVE MODE;
      SELECT EXISTS (SELECT FROM {schema}.pending_settlements
        WHERE created_at >= part.week AND created_at < part.week + interval '7 days') INTO has_pending;
      CONTINUE WHEN has_pending;
      EXECUTE format('ALTER TABLE {schema}.settlements DETACH PARTITION {schema}.%I', part.name);
      IF is_dropped THEN
        EXECUTE format('DROP TABLE {schema}.%I', part.name);
      ELSE
        EXECUTE format('ALTER TABLE {schema}.%I RENAME TO %I', part.name, 'archived_' || part.name);
      END IF;
      archived := archived + 1;
    EXCEPTION WHEN lock_not_available THEN
      -- Next time: those that use the table are not to wait for this.
      RETURN archived;
    END;
  END LOOP;
  RETURN archived;
END $$;
REVOKE ALL ON FUNCTION {schema}.create_partitions() FROM PUBLIC;
REVOKE ALL ON FUNCTION {schema}.archive_default(timestamptz, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION {schema}.archive_settlements(timestamptz, boolean) FROM PUBLIC;
`
