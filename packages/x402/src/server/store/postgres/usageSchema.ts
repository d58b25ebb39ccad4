/** Version 4 of the seller's tables: metered work, and payers that left it unpaid. The clock of the database decides. */
import { maxUnpaidPayers } from '../UsageStore.js'

export const usageSchema = `
  CREATE TABLE {schema}.metered_work (
    transaction_id text PRIMARY KEY,
    payer text NOT NULL,
    charge numeric(20) NOT NULL,
    settlement text NOT NULL,
    until_at timestamptz NOT NULL,
    is_taken boolean NOT NULL DEFAULT false
  ) WITH (fillfactor = 50);
  CREATE INDEX metered_work_by_time ON {schema}.metered_work (until_at);
  CREATE TABLE {schema}.unpaid_payers (
    payer text PRIMARY KEY,
    until_at timestamptz NOT NULL,
    count integer NOT NULL
  );
  CREATE INDEX unpaid_payers_by_time ON {schema}.unpaid_payers (until_at);

  CREATE FUNCTION {schema}.is_unpaid(p_payer text) RETURNS boolean LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM {schema}.unpaid_payers WHERE payer = p_payer AND until_at > clock_timestamp());
  $$;

  CREATE FUNCTION {schema}.count_unpaid(p_limit integer) RETURNS integer LANGUAGE sql AS $$
    SELECT least(coalesce(sum(count), 0), p_limit)::integer FROM (
      SELECT count FROM {schema}.unpaid_payers WHERE until_at > clock_timestamp() LIMIT p_limit) AS refused;
  $$;

  CREATE FUNCTION {schema}.begin_work(p_id text, p_payer text, p_charge numeric, p_settlement text, p_lease_ms bigint)
  RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    until timestamptz := clock_timestamp() + p_lease_ms * interval '1 millisecond';
  BEGIN
    IF {schema}.is_unpaid(p_payer) THEN RETURN false; END IF;
    INSERT INTO {schema}.metered_work AS w VALUES (p_id, p_payer, p_charge, p_settlement, until)
      ON CONFLICT (transaction_id)
      DO UPDATE SET charge = p_charge, settlement = p_settlement, until_at = until, is_taken = false;
    RETURN true;
  END $$;

  CREATE FUNCTION {schema}.note_work(p_id text, p_payer text, p_charge numeric, p_lease_ms bigint)
  RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE {schema}.metered_work
      SET charge = p_charge, until_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
      WHERE transaction_id = p_id AND NOT is_taken;
    IF NOT FOUND THEN RETURN 'gone'; END IF;
    RETURN CASE WHEN {schema}.is_unpaid(p_payer) THEN 'refused' ELSE 'noted' END;
  END $$;

  CREATE FUNCTION {schema}.leave_unpaid(p_id text, p_payer text, p_refuse_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    until timestamptz := clock_timestamp() + p_refuse_ms * interval '1 millisecond';
  BEGIN
    DELETE FROM {schema}.metered_work WHERE transaction_id = p_id;
    INSERT INTO {schema}.unpaid_payers AS u VALUES (p_payer, until, 1)
      ON CONFLICT (payer) DO UPDATE SET until_at = greatest(u.until_at, until),
        count = CASE WHEN u.until_at > clock_timestamp() THEN least(u.count, 1000000) ELSE 0 END + 1;
    -- Rows that others have locked are deleted by a later call.
    DELETE FROM {schema}.unpaid_payers WHERE payer IN (
      SELECT payer FROM {schema}.unpaid_payers WHERE until_at <= clock_timestamp() AND payer <> p_payer
        FOR UPDATE SKIP LOCKED);
    DELETE FROM {schema}.unpaid_payers WHERE payer IN (
      SELECT payer FROM {schema}.unpaid_payers WHERE payer <> p_payer
        ORDER BY until_at DESC OFFSET ${maxUnpaidPayers} FOR UPDATE SKIP LOCKED);
  END $$;

  CREATE FUNCTION {schema}.take_abandoned(p_limit integer, p_lease_ms bigint)
  RETURNS SETOF {schema}.metered_work LANGUAGE sql AS $$
    UPDATE {schema}.metered_work w
      SET until_at = clock_timestamp() + p_lease_ms * interval '1 millisecond', is_taken = true
      WHERE w.transaction_id IN (
        SELECT transaction_id FROM {schema}.metered_work WHERE until_at < clock_timestamp()
          ORDER BY until_at LIMIT p_limit FOR UPDATE SKIP LOCKED)
      RETURNING w.*;
  $$;
`
