/**
 * The functions that change settlements. Each one is one state change of many payments, in one round trip and one
 * commit. The clock of the server decides. Locks are taken in the same order everywhere, so that replicas never
 * deadlock: advisory locks of limits by their key, then pending_settlements, settlements, settled_payers,
 * settlement_rates, settlement_fees, claimants and holds, each by its key.
 */
import { plans } from './plans.js'

export const facilitatorFunctions = `
-- A part counts until all of it is older than a day, or a minute.
CREATE OR REPLACE FUNCTION {schema}.fees_of(key text, at timestamptz) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(micro_algos), 0) FROM {schema}.settlement_fees
    WHERE pay_to = key AND part > (floor(extract(epoch FROM at) / 900) - 97)::bigint);
END $$;
-- The fees of verified payments, which are spent when they settle. An empty key is all sellers.
CREATE OR REPLACE FUNCTION {schema}.reserved_fees(key text, at timestamptz) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF key = '' THEN
    RETURN (SELECT coalesce(sum(fee_micro_algos), 0) FROM {schema}.holds
      WHERE is_admitted AND NOT is_settling AND fee_micro_algos > 0 AND until > at);
  END IF;
  RETURN (SELECT coalesce(sum(fee_micro_algos), 0) FROM {schema}.holds
    WHERE is_admitted AND NOT is_settling AND fee_micro_algos > 0 AND pay_to = key AND until > at);
END $$;
CREATE OR REPLACE FUNCTION {schema}.rate_of(key text, at timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(count), 0)::bigint FROM {schema}.settlement_rates
    WHERE name = key AND part > (floor(extract(epoch FROM at)) - 61)::bigint);
END $$;

-- The limit that each of these payments would meet, if it came alone. Those on fees first: waiting helps against the others.
CREATE OR REPLACE FUNCTION {schema}.limits_met(payers text[], pay_tos text[], fees numeric[], limits {schema}.settlement_limits, at timestamptz)
RETURNS text[] LANGUAGE plpgsql STABLE ${plans} AS $$
DECLARE
  met text[] := '{}';
  in_all numeric;
  -- Of the seller of the payment before: most payments of a batch have the same one.
  seller text;
  seller_fees numeric;
  seller_met text;
BEGIN
  IF limits.fees_in_all IS NOT NULL THEN in_all := {schema}.fees_of('', at) + {schema}.reserved_fees('', at); END IF;
  FOR n IN 1..coalesce(cardinality(payers), 0) LOOP
    IF seller IS DISTINCT FROM pay_tos[n] THEN
      seller := pay_tos[n];
      IF limits.fees_per_pay_to IS NOT NULL THEN seller_fees := {schema}.fees_of(seller, at) + {schema}.reserved_fees(seller, at); END IF;
      seller_met := CASE
        WHEN limits.pay_to_per_minute IS NOT NULL
          AND {schema}.rate_of('payTo ' || seller, at) >= limits.pay_to_per_minute THEN 'payToPerMinute'
        WHEN limits.pending_per_pay_to IS NOT NULL AND (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements
          WHERE pay_to = seller AND NOT is_rejected LIMIT limits.pending_per_pay_to) AS counted) >= limits.pending_per_pay_to
          THEN 'pendingPerPayTo' END;
    END IF;
    met := array_append(met, CASE
      WHEN fees[n] > 0 AND in_all + fees[n] > limits.fees_in_all THEN 'feesInAll'
      WHEN fees[n] > 0 AND seller_fees + fees[n] > limits.fees_per_pay_to THEN 'feesPerPayTo'
      WHEN limits.payer_per_minute IS NOT NULL
        AND {schema}.rate_of('payer ' || payers[n], at) >= limits.payer_per_minute THEN 'payerPerMinute'
      WHEN seller_met = 'payToPerMinute' THEN seller_met
      WHEN limits.pending_per_payer IS NOT NULL AND (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements
        WHERE payer = payers[n] LIMIT limits.pending_per_payer) AS counted) >= limits.pending_per_payer THEN 'pendingPerPayer'
      ELSE seller_met END);
  END LOOP;
  RETURN met;
END $$;

CREATE OR REPLACE FUNCTION {schema}.limit_met(payer_ text, pay_to_ text, fee numeric, limits {schema}.settlement_limits, at timestamptz)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ({schema}.limits_met(ARRAY[payer_], ARRAY[pay_to_], ARRAY[fee], limits, at))[1];
END $$;

-- Held until the commit, so that no other claim of the same payer or seller counts meanwhile.
CREATE OR REPLACE FUNCTION {schema}.lock_limits(items {schema}.claim_item[], limits {schema}.settlement_limits) RETURNS void
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

-- Counts payments in this minute, where there is a limit.
CREATE OR REPLACE FUNCTION {schema}.count_rates(payers text[], pay_tos text[], limits {schema}.settlement_limits, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(limits.payer_per_minute, limits.pay_to_per_minute) IS NULL THEN RETURN; END IF;
  INSERT INTO {schema}.settlement_rates AS r (name, part, count)
    SELECT name, floor(extract(epoch FROM at)), count(*) FROM (
      SELECT 'payer ' || payer AS name FROM unnest(payers) AS payer WHERE limits.payer_per_minute IS NOT NULL
      UNION ALL SELECT 'payTo ' || pay_to FROM unnest(pay_tos) AS pay_to WHERE limits.pay_to_per_minute IS NOT NULL
    ) AS names GROUP BY name ORDER BY name
  ON CONFLICT (name, part) DO UPDATE SET count = r.count + excluded.count;
END $$;

-- Those in 'unlimited' were counted in the rates when they were held.
CREATE OR REPLACE FUNCTION {schema}.record_claims(items {schema}.claim_item[], unlimited text[], limits {schema}.settlement_limits, slot_ smallint, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.settlements (transaction_id, created_at, state, network, payer, pay_to, asset, amount, members,
      first_valid, last_valid, fee_micro_algos, claimant, attempt)
    SELECT i.id, at, 'pending', i.network, i.payer, i.pay_to, i.asset, i.amount,
      ARRAY(SELECT decode(m, 'base64') FROM unnest(i.members) WITH ORDINALITY AS m (m, place) ORDER BY place),
      i.first_valid, i.last_valid, i.fee, i.claimant, i.attempt
    FROM unnest(items) AS i;
  PERFORM {schema}.count_rates(
    ARRAY(SELECT i.payer FROM unnest(items) AS i WHERE NOT i.id = ANY (unlimited)),
    ARRAY(SELECT i.pay_to FROM unnest(items) AS i WHERE NOT i.id = ANY (unlimited)), limits, at);
  INSERT INTO {schema}.settlement_fees AS f (pay_to, part, slot, micro_algos)
    SELECT i.pay_to, floor(extract(epoch FROM at) / 900), slot_, sum(i.fee)
    FROM (SELECT pay_to, fee FROM unnest(items) UNION ALL SELECT '', fee FROM unnest(items)) AS i
    WHERE i.fee > 0 GROUP BY i.pay_to ORDER BY i.pay_to
  ON CONFLICT (pay_to, part, slot) DO UPDATE SET micro_algos = f.micro_algos + excluded.micro_algos;
END $$;

-- Whether all of them fit together, beside what is counted. Their rows in pending_settlements are there already. The
-- fees of admitted ones are reserved, and the unlimited ones meet no limit.
CREATE OR REPLACE FUNCTION {schema}.all_fit(items {schema}.claim_item[], admitted text[], unlimited text[], limits {schema}.settlement_limits, at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
  paying {schema}.claim_item[] := ARRAY(SELECT i FROM unnest(items) AS i WHERE i.fee > 0 AND NOT i.id = ANY (admitted));
  counted {schema}.claim_item[] := ARRAY(SELECT i FROM unnest(items) AS i WHERE NOT i.id = ANY (unlimited));
BEGIN
  RETURN NOT (
    (limits.fees_in_all IS NOT NULL AND EXISTS (SELECT FROM unnest(paying) AS i
      HAVING {schema}.fees_of('', at) + {schema}.reserved_fees('', at) + sum(i.fee) > limits.fees_in_all))
    OR (limits.fees_per_pay_to IS NOT NULL AND EXISTS (SELECT FROM unnest(paying) AS i GROUP BY i.pay_to
      HAVING {schema}.fees_of(i.pay_to, at) + {schema}.reserved_fees(i.pay_to, at) + sum(i.fee) > limits.fees_per_pay_to))
    OR (limits.payer_per_minute IS NOT NULL AND EXISTS (SELECT FROM unnest(counted) AS i
      GROUP BY i.payer HAVING {schema}.rate_of('payer ' || i.payer, at) + count(*) > limits.payer_per_minute))
    OR (limits.pay_to_per_minute IS NOT NULL AND EXISTS (SELECT FROM unnest(counted) AS i
      GROUP BY i.pay_to HAVING {schema}.rate_of('payTo ' || i.pay_to, at) + count(*) > limits.pay_to_per_minute))
    OR (limits.pending_per_payer IS NOT NULL AND EXISTS (SELECT FROM (SELECT DISTINCT payer FROM unnest(counted)) AS i
      WHERE (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements p WHERE p.payer = i.payer
        LIMIT limits.pending_per_payer + 1) AS counted) > limits.pending_per_payer))
    OR (limits.pending_per_pay_to IS NOT NULL AND EXISTS (SELECT FROM (SELECT DISTINCT pay_to FROM unnest(counted)) AS i
      WHERE (SELECT count(*) FROM (SELECT FROM {schema}.pending_settlements p
        WHERE p.pay_to = i.pay_to AND NOT p.is_rejected
        LIMIT limits.pending_per_pay_to + 1) AS counted) > limits.pending_per_pay_to)));
END $$;

-- The record has the claimant from now on.
CREATE OR REPLACE FUNCTION {schema}.end_claimants(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM {schema}.claimants WHERE transaction_id = ANY (ARRAY(
    SELECT c.transaction_id FROM {schema}.claimants c WHERE c.transaction_id = ANY (ids) ORDER BY 1 FOR UPDATE));
END $$;

CREATE OR REPLACE FUNCTION {schema}.claim_settlements(batch json, limits {schema}.settlement_limits, owner text, lease interval, slot_ smallint)
RETURNS TABLE (n integer, outcome text) LANGUAGE plpgsql
${plans} AS $$
#variable_conflict use_column
DECLARE
  items {schema}.claim_item[];
  -- Those that this call records, if the limits allow it.
  fresh {schema}.claim_item[];
  ids text[];
  known text[];
  -- Those that are held for another claimant.
  foreign_ids text[];
  -- Those whose fee is reserved; of these, those that meet no limit, because the work for them may be done.
  admitted text[];
  unlimited text[];
  item {schema}.claim_item;
  at timestamptz;
BEGIN
  SELECT array_agg(i ORDER BY i.n) INTO items FROM json_populate_recordset(NULL::{schema}.claim_item, batch) AS i;
  -- True if none of them is set.
  IF NOT limits IS NULL THEN PERFORM {schema}.lock_limits(items, limits); END IF;
  at := date_trunc('milliseconds', clock_timestamp());
  WITH mine AS (
    INSERT INTO {schema}.pending_settlements (transaction_id, created_at, payer, pay_to, lease_owner, lease_until)
      SELECT i.id, at, i.payer, i.pay_to, owner, at + lease FROM unnest(items) AS i ORDER BY i.id
    ON CONFLICT (transaction_id) DO NOTHING RETURNING transaction_id
  )
  SELECT coalesce(array_agg(transaction_id), '{}') INTO ids FROM mine;
  -- In a statement of its own: it sees what ended before this claim had its row.
  SELECT array_agg(s.transaction_id) INTO known FROM {schema}.settlements s WHERE s.transaction_id = ANY (ids);
  IF known IS NOT NULL THEN
    DELETE FROM {schema}.pending_settlements WHERE transaction_id = ANY (known);
    ids := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(known));
  END IF;
  SELECT array_agg(c.transaction_id) INTO foreign_ids
    FROM {schema}.claimants c JOIN unnest(items) AS i ON i.id = c.transaction_id
    WHERE c.transaction_id = ANY (ids) AND c.claimant <> i.claimant;
  IF foreign_ids IS NOT NULL THEN
    DELETE FROM {schema}.pending_settlements WHERE transaction_id = ANY (foreign_ids);
    ids := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(foreign_ids));
  END IF;
  fresh := items;
  IF cardinality(ids) < cardinality(items) THEN
    RETURN QUERY SELECT i.n, CASE WHEN i.id = ANY (foreign_ids) THEN 'claimed' ELSE 'known' END
      FROM unnest(items) AS i WHERE NOT i.id = ANY (ids);
    SELECT array_agg(i ORDER BY i.n) INTO fresh FROM unnest(items) AS i WHERE i.id = ANY (ids);
    IF fresh IS NULL THEN RETURN; END IF;
  END IF;
  SELECT coalesce(array_agg(h.transaction_id), '{}'), coalesce(array_agg(h.transaction_id) FILTER (WHERE h.is_paid_afterwards), '{}')
    INTO admitted, unlimited
    FROM {schema}.holds h WHERE h.transaction_id = ANY (ids) AND h.is_admitted AND h.until > at;
  IF limits IS NULL OR {schema}.all_fit(fresh, admitted, unlimited, limits, at) THEN
    PERFORM {schema}.record_claims(fresh, unlimited, limits, slot_, at);
    PERFORM {schema}.end_claimants(ids);
    PERFORM FROM {schema}.holds WHERE transaction_id = ANY (ids) ORDER BY transaction_id FOR UPDATE;
    UPDATE {schema}.holds SET is_settling = true, until = 'infinity' WHERE transaction_id = ANY (ids);
    RETURN QUERY SELECT i.n, 'recorded' FROM unnest(fresh) AS i;
    RETURN;
  END IF;
  -- One by one, in the order in which they came: those before it count for each.
  DELETE FROM {schema}.pending_settlements WHERE transaction_id = ANY (ids);
  FOREACH item IN ARRAY fresh LOOP
    n := item.n;
    outcome := CASE WHEN NOT item.id = ANY (unlimited) THEN {schema}.limit_met(item.payer, item.pay_to,
      CASE WHEN item.id = ANY (admitted) THEN 0 ELSE item.fee END, limits, at) END;
    IF outcome IS NULL THEN
      INSERT INTO {schema}.pending_settlements (transaction_id, created_at, payer, pay_to, lease_owner, lease_until)
        VALUES (item.id, at, item.payer, item.pay_to, owner, at + lease);
      PERFORM {schema}.record_claims(ARRAY[item], unlimited, limits, slot_, at);
      PERFORM {schema}.end_claimants(ARRAY[item.id]);
      UPDATE {schema}.holds SET is_settling = true, until = 'infinity' WHERE transaction_id = item.id;
      outcome := 'recorded';
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Those that it has not ended, because they have, or because another replica works on them.
CREATE OR REPLACE FUNCTION {schema}.finish_settlements(batch json, slot_ smallint, owner text) RETURNS SETOF text LANGUAGE plpgsql
${plans} AS $$
#variable_conflict use_column
DECLARE
  ids text[];
  -- Of those that are pending: all, and those that another replica works on.
  pending text[];
  others text[];
  first_at timestamptz;
  last_at timestamptz;
  ended text[] := '{}';
  networks text[];
  payers text[];
  -- Those that had failed.
  again text[] := '{}';
  is_all_settled boolean;
BEGIN
  SELECT array_agg(i.id ORDER BY i.id), bool_and(i.state = 'settled') INTO ids, is_all_settled
    FROM json_to_recordset(batch) AS i (id text, state text);
  -- Locks the pending ones by their key before the records: a claim does so too.
  SELECT coalesce(array_agg(p.transaction_id), '{}'),
      coalesce(array_agg(p.transaction_id) FILTER (WHERE p.lease_owner <> owner), '{}'), min(p.created_at), max(p.created_at)
    INTO pending, others, first_at, last_at
    FROM (SELECT transaction_id, lease_owner, created_at FROM {schema}.pending_settlements
      WHERE transaction_id = ANY (ids) ORDER BY transaction_id FOR UPDATE) AS p;
  IF cardinality(pending) > 0 THEN
    -- What the ledger has, each replica may record; that it never can have it, only the one that works on it.
    WITH changed AS (
      UPDATE {schema}.settlements s
      SET state = i.state, round = i.round, error_reason = i.reason, error_message = i.message
      FROM json_to_recordset(batch) AS i (id text, state text, round numeric, reason text, message text)
      WHERE s.transaction_id = ANY (pending) AND s.created_at BETWEEN first_at AND last_at
        AND s.transaction_id = i.id AND s.state = 'pending' AND (i.state = 'settled' OR NOT i.id = ANY (others))
      RETURNING s.transaction_id, s.network, s.payer, s.state
    )
    SELECT coalesce(array_agg(c.transaction_id), '{}'), array_agg(c.network) FILTER (WHERE c.state = 'settled'),
        array_agg(c.payer) FILTER (WHERE c.state = 'settled')
      INTO ended, networks, payers FROM changed c;
    DELETE FROM {schema}.pending_settlements WHERE transaction_id = ANY (ended);
  END IF;
  IF cardinality(pending) < cardinality(ids) THEN
    again := {schema}.settle_failed(batch, ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(pending)));
  END IF;
  PERFORM {schema}.count_settled(networks, payers);
  IF NOT is_all_settled THEN PERFORM {schema}.change_fees(ended, 'failed', slot_); END IF;
  IF cardinality(again) > 0 THEN PERFORM {schema}.change_fees(again, 'settled', slot_); END IF;
  DELETE FROM {schema}.holds WHERE transaction_id = ANY (ARRAY(
    SELECT h.transaction_id FROM {schema}.holds h
    WHERE h.transaction_id = ANY (ids) AND (NOT h.transaction_id = ANY (pending) OR h.transaction_id = ANY (ended))
    ORDER BY h.transaction_id FOR UPDATE));
  -- What the ledger has is found there again: no caller waits for the disk. Fees have to be on it.
  IF is_all_settled AND again = '{}' THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  IF cardinality(ended) < cardinality(ids) THEN
    RETURN QUERY SELECT unnest(ids) EXCEPT SELECT unnest(ended || again);
  END IF;
END $$;

-- As the version before calls it, which does not say who it is.
CREATE OR REPLACE FUNCTION {schema}.finish_settlements(batch json, slot_ smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM {schema}.finish_settlements(batch, slot_, NULL);
END $$;

-- Settles those that failed, and that the ledger has after all.
CREATE OR REPLACE FUNCTION {schema}.settle_failed(batch json, ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  ended text[];
BEGIN
  PERFORM FROM {schema}.settlements WHERE transaction_id = ANY (ids) ORDER BY transaction_id FOR UPDATE;
  WITH changed AS (
    UPDATE {schema}.settlements s SET state = i.state, round = i.round, error_reason = i.reason, error_message = i.message
    FROM json_to_recordset(batch) AS i (id text, state text, round numeric, reason text, message text)
    WHERE s.transaction_id = ANY (ids) AND s.transaction_id = i.id AND s.state = 'failed' AND i.state = 'settled'
    RETURNING s.transaction_id
  )
  SELECT coalesce(array_agg(transaction_id), '{}') INTO ended FROM changed;
  RETURN ended;
END $$;

CREATE OR REPLACE FUNCTION {schema}.count_settled(networks text[], payers text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.settled_payers AS p (network, payer, settled_at)
    SELECT c.network, c.payer, clock_timestamp() FROM unnest(networks, payers) AS c (network, payer) GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (network, payer) DO UPDATE SET settled_at = excluded.settled_at;
END $$;

-- Gives the fees of those back that failed; or counts them again, because the ledger has them. Not in a part that counts no longer.
CREATE OR REPLACE FUNCTION {schema}.change_fees(ids text[], state_ text, slot_ smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.settlement_fees AS f (pay_to, part, slot, micro_algos)
    SELECT i.pay_to, i.part, slot_, sum(CASE WHEN state_ = 'failed' THEN -i.fee ELSE i.fee END)
    FROM (
      SELECT key AS pay_to, floor(extract(epoch FROM s.created_at) / 900) AS part, s.fee_micro_algos AS fee
      FROM {schema}.settlements s, unnest(ARRAY[s.pay_to, '']) AS key
      WHERE s.transaction_id = ANY (ids) AND s.state = state_ AND s.fee_micro_algos > 0
        AND s.created_at > clock_timestamp() - interval '1 day 15 minutes'
    ) AS i
    GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (pay_to, part, slot) DO UPDATE SET micro_algos = f.micro_algos + excluded.micro_algos;
END $$;
`
