/** Payments that are verified, what is ahead of each, the rates of callers, and what is deleted after a while. */
import { plans } from './plans.js'

export const holdFunctions = `
CREATE TYPE {schema}.hold_item AS (
  n integer, id text, network text, payer text, pay_to text, claimant text, costs jsonb, fee numeric, fee_payer text, hold_ms integer
);

CREATE FUNCTION {schema}.hold_payments(batch json, limits {schema}.settlement_limits)
RETURNS TABLE (n integer, outcome text, costs jsonb, settled_ago_ms double precision,
  fees numeric, fees_settling numeric, fees_own numeric, payers bigint, was_held boolean)
LANGUAGE plpgsql ${plans} AS $$
#variable_conflict use_column
DECLARE
  items {schema}.hold_item[];
  held {schema}.hold_item[];
  again integer[] := '{}';
  at timestamptz;
BEGIN
  SELECT array_agg(i ORDER BY i.n) INTO items FROM json_populate_recordset(NULL::{schema}.hold_item, batch) AS i;
  -- Two payments of an account that are verified at the same time: one of them is ahead of the other.
  PERFORM pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(name, 403) AS key FROM (
      SELECT i.network || ' ' || i.payer AS name FROM unnest(items) AS i
      UNION ALL SELECT i.network || ' ' || i.fee_payer FROM unnest(items) AS i WHERE i.fee_payer IS NOT NULL
    ) AS names ORDER BY 1
  ) AS keys;
  at := clock_timestamp();
  DELETE FROM {schema}.holds WHERE transaction_id IN (SELECT h.transaction_id FROM {schema}.holds h
    WHERE h.transaction_id IN (SELECT i.id FROM unnest(items) AS i) AND h.until <= at ORDER BY 1 FOR UPDATE);
  FOR n, outcome IN
    SELECT i.n, CASE
      WHEN EXISTS (SELECT FROM {schema}.settlements s WHERE s.transaction_id = i.id) THEN 'known'
      WHEN EXISTS (SELECT FROM {schema}.holds h WHERE h.transaction_id = i.id AND h.claimant <> i.claimant) THEN 'claimed'
      -- Meets no limit: the work for it may be done.
      WHEN EXISTS (SELECT FROM {schema}.holds h WHERE h.transaction_id = i.id) THEN 'again'
      ELSE {schema}.limit_met(i.payer, i.pay_to, i.fee, limits, at) END
    FROM unnest(items) AS i
  LOOP
    IF outcome = 'again' THEN again := again || n; outcome := NULL; END IF;
    IF outcome IS NULL THEN held := held || items[n + 1]; ELSE RETURN NEXT; END IF;
  END LOOP;
  -- By their key, as claims do: those below are in the order in which they came.
  IF again <> '{}' THEN
    PERFORM FROM {schema}.holds WHERE transaction_id IN (SELECT i.id FROM unnest(held) AS i) ORDER BY transaction_id FOR UPDATE;
  END IF;
  INSERT INTO {schema}.holds AS h (transaction_id, network, payer, claimant, costs, fee_micro_algos, fee_payer, until)
    SELECT i.id, i.network, i.payer, i.claimant, i.costs, i.fee, i.fee_payer, at + i.hold_ms * interval '1 millisecond'
    FROM unnest(held) AS i ORDER BY i.n
  ON CONFLICT (transaction_id) DO UPDATE SET until = greatest(h.until, excluded.until);
  RETURN QUERY
    WITH fees AS (
      SELECT h.transaction_id,
        sum(h.fee_micro_algos) OVER account - h.fee_micro_algos AS of_all,
        sum(h.fee_micro_algos) FILTER (WHERE h.is_settling) OVER account AS of_settling,
        sum(h.fee_micro_algos) OVER (PARTITION BY h.network, h.fee_payer, h.payer ORDER BY h.place) - h.fee_micro_algos AS of_own,
        h.network, h.fee_payer
      FROM {schema}.holds h
      WHERE h.fee_payer IN (SELECT i.fee_payer FROM unnest(held) AS i) AND h.until > at
      WINDOW account AS (PARTITION BY h.network, h.fee_payer ORDER BY h.place)
    ), payers AS (
      SELECT h.network, h.fee_payer, count(DISTINCT h.payer) AS count FROM {schema}.holds h
      WHERE h.fee_payer IN (SELECT i.fee_payer FROM unnest(held) AS i) AND h.until > at
      GROUP BY 1, 2
    )
    SELECT i.n, 'held', ahead.costs, extract(epoch FROM at - last.settled)::double precision * 1000,
      coalesce(f.of_all, 0), coalesce(f.of_settling, 0), coalesce(f.of_own, 0), coalesce(p.count, 0), i.n = ANY (again)
    FROM unnest(held) AS i
      JOIN {schema}.holds mine ON mine.transaction_id = i.id
      LEFT JOIN fees f ON f.transaction_id = i.id
      LEFT JOIN payers p ON p.network = i.network AND p.fee_payer = i.fee_payer
      CROSS JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_object('asset', asset, 'held', held::text, 'settling', settling::text)) AS costs FROM (
          SELECT asset, coalesce(sum(amount) FILTER (WHERE NOT is_settling), 0) AS held,
            coalesce(sum(amount) FILTER (WHERE is_settling), 0) AS settling
          FROM (
            SELECT c.asset, c.amount, h.is_settling FROM {schema}.holds h, jsonb_to_recordset(h.costs) AS c (asset text, amount numeric)
            WHERE h.payer = i.payer AND h.network = i.network AND h.until > at AND h.place < mine.place
            UNION ALL
            -- Recorded before a crash of the server, which has emptied the table of holds.
            SELECT s.asset, s.amount::numeric, true FROM {schema}.pending_settlements w
              JOIN {schema}.settlements s ON s.transaction_id = w.transaction_id AND s.created_at = w.created_at
            WHERE w.payer = i.payer AND s.network = i.network
              AND NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.transaction_id = w.transaction_id)
          ) AS each GROUP BY asset
        ) AS sums
      ) AS ahead
      CROSS JOIN LATERAL (
        SELECT max(e.settled_at) AS settled FROM {schema}.settled_payers e
        WHERE e.payer = i.payer AND e.network = i.network AND e.settled_at > at - interval '1 minute'
      ) AS last;
END $$;

-- Requests of callers in a rolling minute, these included.
CREATE FUNCTION {schema}.count_callers(batch json) RETURNS TABLE (name text, count bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  second bigint := floor(extract(epoch FROM clock_timestamp()));
BEGIN
  INSERT INTO {schema}.caller_rates AS r (name, part, count)
    SELECT i.name, second, i.count FROM json_to_recordset(batch) AS i (name text, count integer) ORDER BY i.name
  ON CONFLICT (name, part) DO UPDATE SET count = r.count + excluded.count;
  RETURN QUERY SELECT r.name, sum(r.count)::bigint FROM {schema}.caller_rates r
    WHERE r.name IN (SELECT i.name FROM json_to_recordset(batch) AS i (name text)) AND r.part > second - 61 GROUP BY r.name;
END $$;

-- Deletes what counts no longer, by one replica at a time and not too much at once.
CREATE FUNCTION {schema}.sweep() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  second bigint := floor(extract(epoch FROM at));
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('sweep {schema}', 404)) THEN RETURN; END IF;
  DELETE FROM {schema}.holds WHERE transaction_id IN (
    SELECT transaction_id FROM {schema}.holds WHERE until <= at LIMIT 50000 FOR UPDATE SKIP LOCKED);
  DELETE FROM {schema}.settled_payers WHERE ctid IN (
    SELECT ctid FROM {schema}.settled_payers WHERE settled_at <= at - interval '1 minute' LIMIT 50000 FOR UPDATE SKIP LOCKED);
  DELETE FROM {schema}.caller_rates WHERE ctid IN (
    SELECT ctid FROM {schema}.caller_rates WHERE part <= second - 61 LIMIT 50000 FOR UPDATE SKIP LOCKED);
  DELETE FROM {schema}.settlement_rates WHERE ctid IN (
    SELECT ctid FROM {schema}.settlement_rates WHERE part <= second - 61 LIMIT 50000 FOR UPDATE SKIP LOCKED);
  DELETE FROM {schema}.settlement_fees WHERE ctid IN (
    SELECT ctid FROM {schema}.settlement_fees WHERE part <= second / 900 - 98 LIMIT 50000 FOR UPDATE SKIP LOCKED);
END $$;
`
