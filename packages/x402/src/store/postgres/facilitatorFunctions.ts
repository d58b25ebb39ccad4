/**
 * What changes settlements. Each function is one state change of many payments, in one round trip and one commit; the clock
 * of the server decides. Locks are taken in one order everywhere, so that replicas never wait for each other in a circle:
 * advisory locks of limits by their key, then pending_settlements, settlements, settled_payers, settlement_rates,
 * settlement_fees and holds, each by its key.
 */
import { plans } from './plans.js'

export const facilitatorFunctions = `
CREATE TYPE {schema}.claim_item AS (
  n integer, id text, network text, payer text, pay_to text, asset text, amount text, members text[],
  first_valid numeric, last_valid numeric, fee numeric, claimant text, attempt bigint
);
CREATE TYPE {schema}.settlement_limits AS (
  pay_to_per_minute integer, payer_per_minute integer, fees_per_pay_to numeric, fees_in_all numeric,
  pending_per_payer integer, pending_per_pay_to integer
);

-- A part counts until all of it is older than a day, or a minute.
CREATE FUNCTION {schema}.fees_of(key text, at timestamptz) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(micro_algos), 0) FROM {schema}.settlement_fees
  WHERE pay_to = key AND part > (floor(extract(epoch FROM at) / 900) - 97)::bigint
$$;
CREATE FUNCTION {schema}.rate_of(key text, at timestamptz) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(count), 0)::bigint FROM {schema}.settlement_rates
  WHERE name = key AND part > (floor(extract(epoch FROM at)) - 61)::bigint
$$;

-- The limit that one more payment would meet. Those on fees first: waiting helps against the others.
CREATE FUNCTION {schema}.limit_met(payer_ text, pay_to_ text, fee numeric, limits {schema}.settlement_limits, at timestamptz)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF fee > 0 AND limits.fees_in_all IS NOT NULL AND {schema}.fees_of('', at) + fee > limits.fees_in_all THEN
    RETURN 'feesInAll';
  END IF;
  IF fee > 0 AND limits.fees_per_pay_to IS NOT NULL AND {schema}.fees_of(pay_to_, at) + fee > limits.fees_per_pay_to THEN
    RETURN 'feesPerPayTo';
  END IF;
  IF limits.payer_per_minute IS NOT NULL
    AND {schema}.rate_of('payer ' || payer_, at) >= limits.payer_per_minute THEN RETURN 'payerPerMinute'; END IF;
  IF limits.pay_to_per_minute IS NOT NULL
    AND {schema}.rate_of('payTo ' || pay_to_, at) >= limits.pay_to_per_minute THEN RETURN 'payToPerMinute'; END IF;
  IF limits.pending_per_payer IS NOT NULL AND (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements
    WHERE payer = payer_ LIMIT limits.pending_per_payer) AS counted) >= limits.pending_per_payer THEN
    RETURN 'pendingPerPayer';
  END IF;
  IF limits.pending_per_pay_to IS NOT NULL AND (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements
    WHERE pay_to = pay_to_ AND NOT is_rejected LIMIT limits.pending_per_pay_to) AS counted) >= limits.pending_per_pay_to THEN
    RETURN 'pendingPerPayTo';
  END IF;
  RETURN NULL;
END $$;

-- Held until the commit, so that no other claim of the same payer or seller counts meanwhile.
CREATE FUNCTION {schema}.lock_limits(items {schema}.claim_item[], limits {schema}.settlement_limits) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(name, 402) AS key FROM (
      SELECT 'payer ' || i.payer AS name FROM unnest(items) AS i
        WHERE coalesce(limits.payer_per_minute, limits.pending_per_payer) IS NOT NULL
      UNION ALL SELECT 'payTo ' || i.pay_to FROM unnest(items) AS i
        WHERE coalesce(limits.pay_to_per_minute, limits.pending_per_pay_to, limits.fees_per_pay_to) IS NOT NULL
      UNION ALL SELECT 'all' FROM unnest(items) AS i WHERE limits.fees_in_all IS NOT NULL AND i.fee > 0
    ) AS names ORDER BY 1
  ) AS keys;
END $$;

CREATE FUNCTION {schema}.record_claims(items {schema}.claim_item[], limits {schema}.settlement_limits, slot_ smallint, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.settlements (transaction_id, created_at, state, network, payer, pay_to, asset, amount, members,
      first_valid, last_valid, fee_micro_algos, claimant, attempt)
    SELECT i.id, at, 'pending', i.network, i.payer, i.pay_to, i.asset, i.amount,
      ARRAY(SELECT decode(m, 'base64') FROM unnest(i.members) WITH ORDINALITY AS m (m, place) ORDER BY place),
      i.first_valid, i.last_valid, i.fee, i.claimant, i.attempt
    FROM unnest(items) AS i;
  IF coalesce(limits.payer_per_minute, limits.pay_to_per_minute) IS NOT NULL THEN
    INSERT INTO {schema}.settlement_rates AS r (name, part, count)
      SELECT name, floor(extract(epoch FROM at)), count(*) FROM (
        SELECT 'payer ' || i.payer AS name FROM unnest(items) AS i WHERE limits.payer_per_minute IS NOT NULL
        UNION ALL SELECT 'payTo ' || i.pay_to FROM unnest(items) AS i WHERE limits.pay_to_per_minute IS NOT NULL
      ) AS names GROUP BY name ORDER BY name
    ON CONFLICT (name, part) DO UPDATE SET count = r.count + excluded.count;
  END IF;
  INSERT INTO {schema}.settlement_fees AS f (pay_to, part, slot, micro_algos)
    SELECT i.pay_to, floor(extract(epoch FROM at) / 900), slot_, sum(i.fee)
    FROM (SELECT pay_to, fee FROM unnest(items) UNION ALL SELECT '', fee FROM unnest(items)) AS i
    WHERE i.fee > 0 GROUP BY i.pay_to ORDER BY i.pay_to
  ON CONFLICT (pay_to, part, slot) DO UPDATE SET micro_algos = f.micro_algos + excluded.micro_algos;
END $$;

-- Whether all of them fit together, beside what is counted. Their rows in pending_settlements are there already.
CREATE FUNCTION {schema}.all_fit(items {schema}.claim_item[], limits {schema}.settlement_limits, at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN NOT (
    (limits.fees_in_all IS NOT NULL AND EXISTS (SELECT FROM unnest(items) AS i WHERE i.fee > 0
      HAVING {schema}.fees_of('', at) + sum(i.fee) > limits.fees_in_all))
    OR (limits.fees_per_pay_to IS NOT NULL AND EXISTS (SELECT FROM unnest(items) AS i WHERE i.fee > 0
      GROUP BY i.pay_to HAVING {schema}.fees_of(i.pay_to, at) + sum(i.fee) > limits.fees_per_pay_to))
    OR (limits.payer_per_minute IS NOT NULL AND EXISTS (SELECT FROM unnest(items) AS i
      GROUP BY i.payer HAVING {schema}.rate_of('payer ' || i.payer, at) + count(*) > limits.payer_per_minute))
    OR (limits.pay_to_per_minute IS NOT NULL AND EXISTS (SELECT FROM unnest(items) AS i
      GROUP BY i.pay_to HAVING {schema}.rate_of('payTo ' || i.pay_to, at) + count(*) > limits.pay_to_per_minute))
    OR (limits.pending_per_payer IS NOT NULL AND EXISTS (SELECT FROM (SELECT DISTINCT payer FROM unnest(items)) AS i
      WHERE (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements p WHERE p.payer = i.payer
        LIMIT limits.pending_per_payer + 1) AS counted) > limits.pending_per_payer))
    OR (limits.pending_per_pay_to IS NOT NULL AND EXISTS (SELECT FROM (SELECT DISTINCT pay_to FROM unnest(items)) AS i
      WHERE (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements p
        WHERE p.pay_to = i.pay_to AND NOT p.is_rejected
        LIMIT limits.pending_per_pay_to + 1) AS counted) > limits.pending_per_pay_to)));
END $$;

CREATE FUNCTION {schema}.claim_settlements(batch json, limits {schema}.settlement_limits, owner text, lease interval, slot_ smallint)
RETURNS TABLE (n integer, outcome text) LANGUAGE plpgsql
${plans} AS $$
#variable_conflict use_column
DECLARE
  items {schema}.claim_item[];
  fresh {schema}.claim_item[];
  item {schema}.claim_item;
  at timestamptz;
  met text;
BEGIN
  SELECT array_agg(i ORDER BY i.n) INTO items FROM json_populate_recordset(NULL::{schema}.claim_item, batch) AS i;
  PERFORM {schema}.lock_limits(items, limits);
  at := date_trunc('milliseconds', clock_timestamp());
  WITH mine AS (
    INSERT INTO {schema}.pending_settlements (transaction_id, created_at, payer, pay_to, lease_owner, lease_until)
      SELECT i.id, at, i.payer, i.pay_to, owner, at + lease FROM unnest(items) AS i ORDER BY i.id
    ON CONFLICT (transaction_id) DO NOTHING RETURNING transaction_id
  )
  SELECT array_agg(i ORDER BY i.n) INTO fresh FROM unnest(items) AS i WHERE i.id IN (SELECT transaction_id FROM mine);
  -- In a statement of its own: it sees what ended before this claim had its row.
  IF EXISTS (SELECT FROM {schema}.settlements WHERE transaction_id IN (SELECT i.id FROM unnest(fresh) AS i)) THEN
    DELETE FROM {schema}.pending_settlements WHERE transaction_id IN (
      SELECT s.transaction_id FROM {schema}.settlements s WHERE s.transaction_id IN (SELECT i.id FROM unnest(fresh) AS i));
    SELECT array_agg(i ORDER BY i.n) INTO fresh FROM unnest(fresh) AS i
      WHERE i.id NOT IN (SELECT s.transaction_id FROM {schema}.settlements s
        WHERE s.transaction_id IN (SELECT f.id FROM unnest(fresh) AS f));
  END IF;
  RETURN QUERY SELECT i.n, 'known' FROM unnest(items) AS i WHERE i.id NOT IN (SELECT f.id FROM unnest(fresh) AS f);
  IF fresh IS NULL THEN RETURN; END IF;
  IF {schema}.all_fit(fresh, limits, at) THEN
    PERFORM {schema}.record_claims(fresh, limits, slot_, at);
    UPDATE {schema}.holds SET is_settling = true, until = 'infinity' WHERE transaction_id IN (
      SELECT h.transaction_id FROM {schema}.holds h WHERE h.transaction_id IN (SELECT i.id FROM unnest(fresh) AS i)
      ORDER BY 1 FOR UPDATE);
    RETURN QUERY SELECT i.n, 'recorded' FROM unnest(fresh) AS i;
    RETURN;
  END IF;
  -- One by one, in the order in which they came: those before it count for each.
  DELETE FROM {schema}.pending_settlements WHERE transaction_id IN (SELECT i.id FROM unnest(fresh) AS i);
  FOREACH item IN ARRAY fresh LOOP
    n := item.n;
    outcome := {schema}.limit_met(item.payer, item.pay_to, item.fee, limits, at);
    IF outcome IS NULL THEN
      INSERT INTO {schema}.pending_settlements (transaction_id, created_at, payer, pay_to, lease_owner, lease_until)
        VALUES (item.id, at, item.payer, item.pay_to, owner, at + lease);
      PERFORM {schema}.record_claims(ARRAY[item], limits, slot_, at);
      UPDATE {schema}.holds SET is_settling = true, until = 'infinity' WHERE transaction_id = item.id;
      outcome := 'recorded';
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE FUNCTION {schema}.finish_settlements(batch json, slot_ smallint) RETURNS void LANGUAGE plpgsql
${plans} AS $$
DECLARE
  ids text[];
BEGIN
  SELECT array_agg(i.id ORDER BY i.id) INTO ids FROM json_to_recordset(batch) AS i (id text);
  -- Locks the pending ones by their key before the records: a claim does so too.
  PERFORM FROM {schema}.pending_settlements WHERE transaction_id = ANY (ids) ORDER BY transaction_id FOR UPDATE;
  WITH before AS MATERIALIZED (
    SELECT transaction_id, created_at, state FROM {schema}.settlements
    WHERE transaction_id = ANY (ids) ORDER BY transaction_id FOR UPDATE
  ), changed AS (
    UPDATE {schema}.settlements s
    SET state = i.state, round = i.round, error_reason = i.reason, error_message = i.message
    FROM json_to_recordset(batch) AS i (id text, state text, round numeric, reason text, message text)
      JOIN before b ON b.transaction_id = i.id
    WHERE s.transaction_id = b.transaction_id AND s.created_at = b.created_at
      AND (b.state = 'pending' OR (b.state = 'failed' AND i.state = 'settled'))
    RETURNING s.transaction_id, s.created_at, s.network, s.payer, s.pay_to, s.fee_micro_algos, b.state AS was, s.state AS became
  ), ended AS (
    DELETE FROM {schema}.pending_settlements p USING changed c WHERE p.transaction_id = c.transaction_id
  ), fees AS (
    -- Given back; or counted again, because the ledger has one that failed. Not in a part that counts no longer.
    SELECT c.pay_to, floor(extract(epoch FROM c.created_at) / 900) AS part,
      CASE WHEN c.became = 'failed' THEN -c.fee_micro_algos ELSE c.fee_micro_algos END AS change
    FROM changed c WHERE c.fee_micro_algos > 0 AND (c.became = 'failed' OR c.was = 'failed')
      AND c.created_at > clock_timestamp() - interval '1 day 15 minutes'
  ), counted AS (
    INSERT INTO {schema}.settlement_fees AS f (pay_to, part, slot, micro_algos)
      SELECT i.pay_to, i.part, slot_, sum(i.change)
      FROM (SELECT pay_to, part, change FROM fees UNION ALL SELECT '', part, change FROM fees) AS i
      GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (pay_to, part, slot) DO UPDATE SET micro_algos = f.micro_algos + excluded.micro_algos
  )
  INSERT INTO {schema}.settled_payers AS p (network, payer, settled_at)
    SELECT c.network, c.payer, clock_timestamp() FROM changed c WHERE c.became = 'settled' GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (network, payer) DO UPDATE SET settled_at = excluded.settled_at;
  DELETE FROM {schema}.holds WHERE transaction_id IN (
    SELECT l.transaction_id FROM {schema}.holds l WHERE l.transaction_id = ANY (ids) ORDER BY 1 FOR UPDATE);
END $$;
`
