/**
 * The functions for verified payments, the amounts ahead of each, the rates of callers, and the deletion of old rows.
 */
import { plans } from './plans.js'

export const holdFunctions = `
CREATE OR REPLACE FUNCTION {schema}.hold_payments(batch json, limits {schema}.settlement_limits)
RETURNS TABLE (n integer, outcome text, costs jsonb, settled_ago_ms double precision,
  fees numeric, fees_settling numeric, fees_own numeric, payers bigint, was_held boolean)
LANGUAGE plpgsql ${plans} AS $$
#variable_conflict use_column
DECLARE
  items {schema}.hold_item[];
  ids text[];
  accounts text[];
  known text[];
  -- Of the same ids: those whose amounts no longer count, those of the same claimant, those of another one.
  old text[];
  own text[];
  foreign_ids text[];
  -- Of the same ids: those that are held and count already.
  standing text[];
  -- The limit that each meets, if those before it in the batch do not count for it.
  all_met text[];
  is_exact boolean;
  met text;
  item {schema}.hold_item;
  held {schema}.hold_item[];
  again integer[] := '{}';
  at timestamptz;
BEGIN
  SELECT array_agg(i ORDER BY i.n), array_agg(i.id ORDER BY i.id), array_agg(DISTINCT i.fee_payer) FILTER (WHERE i.fee_payer IS NOT NULL)
    INTO items, ids, accounts FROM json_populate_recordset(NULL::{schema}.hold_item, batch) AS i;
  -- Waits for the log only if a seller works before it is paid. Otherwise a crash may lose the claimants of the last moments.
  IF NOT EXISTS (SELECT FROM unnest(items) AS i WHERE i.is_paid_afterwards) THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  -- The fees that are reserved here and those of claims add up exactly, and so do the payments that are counted here.
  IF NOT limits IS NULL THEN
    PERFORM pg_advisory_xact_lock(key) FROM (
      SELECT DISTINCT hashtextextended(name, 402) AS key FROM (
        SELECT 'payer ' || i.payer AS name FROM unnest(items) AS i
          WHERE i.is_paid_afterwards AND limits.payer_per_minute IS NOT NULL
        UNION ALL SELECT 'payTo ' || i.pay_to FROM unnest(items) AS i
          WHERE (i.is_paid_afterwards AND limits.pay_to_per_minute IS NOT NULL) OR (i.fee > 0 AND limits.fees_per_pay_to IS NOT NULL)
        UNION ALL SELECT 'all' FROM unnest(items) AS i WHERE limits.fees_in_all IS NOT NULL AND i.fee > 0
      ) AS names ORDER BY 1
    ) AS keys;
  END IF;
  -- Two payments of an account that are verified at the same time: one of them is ahead of the other.
  PERFORM pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(name, 403) AS key FROM (
      SELECT i.network || ' ' || i.payer AS name FROM unnest(items) AS i
      UNION ALL SELECT i.network || ' ' || i.fee_payer FROM unnest(items) AS i WHERE i.fee_payer IS NOT NULL
    ) AS names ORDER BY 1
  ) AS keys;
  at := clock_timestamp();
  -- No clock ends a claimant. Its last valid round is compared with the ledger's by the replicas.
  SELECT coalesce(array_agg(c.transaction_id) FILTER (WHERE c.claimant = i.claimant), '{}'),
      coalesce(array_agg(c.transaction_id) FILTER (WHERE c.claimant <> i.claimant), '{}')
    INTO own, foreign_ids
    FROM {schema}.claimants c JOIN unnest(items) AS i ON i.id = c.transaction_id WHERE c.transaction_id = ANY (ids);
  SELECT coalesce(array_agg(h.transaction_id), '{}') INTO old
    FROM {schema}.holds h WHERE h.transaction_id = ANY (ids) AND h.until <= at;
  -- After the holds: one that was recorded and has ended in between is known.
  SELECT coalesce(array_agg(s.transaction_id), '{}') INTO known FROM {schema}.settlements s WHERE s.transaction_id = ANY (ids);
  IF old <> '{}' THEN
    DELETE FROM {schema}.holds WHERE transaction_id = ANY (ARRAY(SELECT h.transaction_id FROM {schema}.holds h
      WHERE h.transaction_id = ANY (old) AND h.until <= at ORDER BY 1 FOR UPDATE));
  END IF;
  SELECT coalesce(array_agg(h.transaction_id), '{}') INTO standing FROM {schema}.holds h WHERE h.transaction_id = ANY (ids) AND h.until > at;
  -- What is counted here: fees, and those that are paid afterwards.
  is_exact := limits.fees_per_pay_to IS NOT NULL OR limits.fees_in_all IS NOT NULL
    OR (coalesce(limits.payer_per_minute, limits.pay_to_per_minute) IS NOT NULL AND EXISTS (SELECT FROM unnest(items) AS i WHERE i.is_paid_afterwards));
  IF NOT limits IS NULL AND NOT is_exact THEN
    SELECT {schema}.limits_met(array_agg(i.payer ORDER BY i.n), array_agg(i.pay_to ORDER BY i.n), array_agg(i.fee ORDER BY i.n), limits, at)
      INTO all_met FROM unnest(items) AS i;
  END IF;
  -- One by one, in the order in which they came.
  FOR place IN 1..cardinality(items) LOOP
    item := items[place];
    n := item.n;
    met := CASE
      WHEN item.id = ANY (known || foreign_ids || standing) THEN NULL
      WHEN is_exact THEN {schema}.limit_met(item.payer, item.pay_to, item.fee, limits, at)
      ELSE all_met[place] END;
    outcome := CASE
      WHEN item.id = ANY (known) THEN 'known'
      WHEN item.id = ANY (foreign_ids) THEN 'claimed'
      -- Meets no limit: the work for it may be done.
      WHEN item.id = ANY (own) THEN NULL
      ELSE met END;
    IF outcome IS NOT NULL THEN RETURN NEXT; CONTINUE; END IF;
    held := held || item;
    IF item.id = ANY (own) THEN again := again || n; END IF;
    CONTINUE WHEN item.id = ANY (standing);
    IF met IS NULL AND item.is_paid_afterwards THEN PERFORM {schema}.count_rates(ARRAY[item.payer], ARRAY[item.pay_to], limits, at); END IF;
    INSERT INTO {schema}.holds (transaction_id, network, payer, pay_to, claimant, costs, fee_micro_algos, fee_payer, until, is_admitted, is_paid_afterwards)
      VALUES (item.id, item.network, item.payer, item.pay_to, item.claimant, item.costs, item.fee, item.fee_payer,
        at + item.hold_ms * interval '1 millisecond', met IS NULL, coalesce(item.is_paid_afterwards, false))
    ON CONFLICT (transaction_id) DO NOTHING;
  END LOOP;
  IF held IS NULL THEN RETURN; END IF;
  INSERT INTO {schema}.claimants (transaction_id, network, claimant, last_valid)
    SELECT i.id, i.network, i.claimant, i.last_valid FROM unnest(held) AS i
    WHERE i.last_valid IS NOT NULL AND NOT i.id = ANY (own) ORDER BY i.id;
  -- By their key, as claims do: those below are in the order in which they came.
  IF again <> '{}' THEN
    PERFORM FROM {schema}.holds WHERE transaction_id = ANY (own) ORDER BY transaction_id FOR UPDATE;
  END IF;
  UPDATE {schema}.holds h SET until = greatest(h.until, at + i.hold_ms * interval '1 millisecond')
    FROM unnest(held) AS i WHERE h.transaction_id = ANY (standing) AND h.transaction_id = i.id;
  RETURN QUERY
    WITH line AS MATERIALIZED (
      SELECT h.transaction_id, h.network, h.fee_payer, h.payer, h.place, h.fee_micro_algos AS fee, h.is_settling
      FROM {schema}.holds h WHERE h.fee_payer = ANY (accounts) AND h.until > at
    ), fees AS (
      SELECT l.transaction_id,
        sum(l.fee) OVER account - l.fee AS of_all,
        sum(l.fee) FILTER (WHERE l.is_settling) OVER account AS of_settling,
        sum(l.fee) OVER (PARTITION BY l.network, l.fee_payer, l.payer ORDER BY l.place) - l.fee AS of_own
      FROM line l WINDOW account AS (PARTITION BY l.network, l.fee_payer ORDER BY l.place)
    ), payers AS (
      SELECT network, fee_payer, count(*) AS count FROM (SELECT DISTINCT l.network, l.fee_payer, l.payer FROM line l) AS each GROUP BY 1, 2
    )
    SELECT i.n, 'held', ahead.costs, extract(epoch FROM at - last.settled)::double precision * 1000,
      coalesce(f.of_all, 0), coalesce(f.of_settling, 0), coalesce(f.of_own, 0), coalesce(p.count, 0), i.n = ANY (again)
    FROM unnest(held) AS i
      LEFT JOIN fees f ON f.transaction_id = i.id
      LEFT JOIN payers p ON p.network = i.network AND p.fee_payer = i.fee_payer
      -- Each has a limit, so that it is run for one payment after the other, by its key, and never for a whole table.
      CROSS JOIN LATERAL (SELECT h.place FROM {schema}.holds h WHERE h.transaction_id = i.id LIMIT 1) AS mine
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
              LEFT JOIN LATERAL (SELECT true AS is_there FROM {schema}.holds h WHERE h.transaction_id = w.transaction_id LIMIT 1) AS hold ON true
              CROSS JOIN LATERAL (SELECT s.asset, s.amount, s.network FROM {schema}.settlements s
                WHERE s.transaction_id = w.transaction_id AND s.created_at = w.created_at LIMIT 1) AS s
            WHERE w.payer = i.payer AND s.network = i.network AND hold.is_there IS NULL
          ) AS each GROUP BY asset
        ) AS sums
      ) AS ahead
      CROSS JOIN LATERAL (
        SELECT max(e.settled_at) AS settled FROM {schema}.settled_payers e
        WHERE e.payer = i.payer AND e.network = i.network AND e.settled_at > at - interval '1 minute'
      ) AS last;
END $$;

-- Requests of callers in a rolling minute, these included.
CREATE OR REPLACE FUNCTION {schema}.count_callers(batch json) RETURNS TABLE (name text, count bigint) LANGUAGE plpgsql
${plans} AS $$
#variable_conflict use_column
DECLARE
  second bigint := floor(extract(epoch FROM clock_timestamp()));
BEGIN
  INSERT INTO {schema}.caller_rates AS r (name, part, count)
    SELECT i.name, second, i.count FROM json_to_recordset(batch) AS i (name text, count integer) ORDER BY i.name
  ON CONFLICT (name, part) DO UPDATE SET count = r.count + excluded.count;
  RETURN QUERY SELECT r.name, sum(r.count)::bigint FROM {schema}.caller_rates r
    WHERE r.name = ANY (ARRAY(SELECT i.name FROM json_to_recordset(batch) AS i (name text))) AND r.part > second - 61 GROUP BY r.name;
END $$;

-- Deletes what counts no longer, by one replica at a time and not too much at once.
CREATE OR REPLACE FUNCTION {schema}.sweep() RETURNS void LANGUAGE plpgsql AS $$
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
