/** Sales and their totals, and the functions that record them. */

const columns = `time_ms, outcome, code, route, method, path, payer, pay_to, amount, asset, asset_name, decimals, network, round,
            first_valid, last_valid, is_due`
/** The values of a sale in JSON, in the same order. */
const values = `(sale->>'timeMs')::bigint, outcome_now, next_code, sale->>'route', sale->>'method', sale->>'path', sale->>'payer',
            sale->>'payTo', (sale->>'amount')::numeric, sale->>'asset', sale->>'assetName', (sale->>'decimals')::integer,
            sale->>'network', (sale->>'round')::bigint, (sale->>'firstValid')::bigint, (sale->>'lastValid')::bigint,
            (sale->>'isDue')::boolean`

export const salesSchema = `
  CREATE TABLE {schema}.sales (
    transaction_id text PRIMARY KEY,
    time_ms bigint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('verified', 'pending', 'settled', 'refused', 'cancelled', 'unknown')),
    code text NOT NULL,
    route text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    payer text NOT NULL,
    pay_to text NOT NULL,
    amount numeric NOT NULL,
    asset text NOT NULL,
    asset_name text NOT NULL,
    decimals integer,
    network text NOT NULL,
    round bigint,
    first_valid bigint NOT NULL,
    last_valid bigint NOT NULL,
    is_due boolean NOT NULL
  ) WITH (fillfactor = 80);
  CREATE INDEX sales_by_time ON {schema}.sales (time_ms, transaction_id COLLATE "C");
  CREATE INDEX sales_due ON {schema}.sales (time_ms, transaction_id COLLATE "C") WHERE is_due AND outcome = 'settled';
  CREATE INDEX sales_undecided ON {schema}.sales (time_ms, transaction_id COLLATE "C") WHERE outcome IN ('verified', 'pending');
  CREATE INDEX sales_failed ON {schema}.sales (time_ms) WHERE outcome IN ('refused', 'cancelled');

  CREATE TABLE {schema}.revenue (
    day integer NOT NULL,
    route text NOT NULL,
    network text NOT NULL,
    asset text NOT NULL,
    asset_name text NOT NULL,
    decimals integer,
    settled bigint NOT NULL,
    amount numeric NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (day, route, network, asset)
  ) WITH (fillfactor = 50);

  -- Adds sums, in the order of their key, so that no two processes wait for each other.
  CREATE FUNCTION {schema}.add_revenue(p_rows jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO {schema}.revenue AS known (day, route, network, asset, asset_name, decimals, settled, amount, failed)
      SELECT day, route, network, asset,
          coalesce((array_agg(asset_name ORDER BY n DESC) FILTER (WHERE decimals IS NOT NULL))[1], min(asset_name)),
          (array_agg(decimals ORDER BY n DESC) FILTER (WHERE decimals IS NOT NULL))[1],
          sum(settled), sum(amount), sum(failed)
        FROM ROWS FROM (jsonb_to_recordset(p_rows) AS (
          day integer, route text, network text, asset text, asset_name text, decimals integer,
          settled bigint, amount numeric, failed bigint
        )) WITH ORDINALITY AS given (day, route, network, asset, asset_name, decimals, settled, amount, failed, n)
        GROUP BY day, route, network, asset ORDER BY day, route, network, asset
      ON CONFLICT (day, route, network, asset) DO UPDATE SET
        asset_name = CASE WHEN excluded.decimals IS NULL THEN known.asset_name ELSE excluded.asset_name END,
        decimals = coalesce(excluded.decimals, known.decimals),
        settled = known.settled + excluded.settled,
        amount = known.amount + excluded.amount,
        failed = known.failed + excluded.failed;
  $$;

  -- As nextSale in Sales.ts. Those of one payment in the order in which they are given, and all by their ids.
  CREATE FUNCTION {schema}.record_sales(p_sales jsonb) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    sale jsonb;
    known {schema}.sales;
    is_known boolean;
    is_changed boolean;
    outcome_now text;
    next_code text;
    counts text;
    counted jsonb := '[]';
  BEGIN
    FOR sale IN SELECT value FROM jsonb_array_elements(p_sales) WITH ORDINALITY AS given (value, n)
      ORDER BY value->>'transactionId' COLLATE "C", n
    LOOP
      outcome_now := sale->>'outcome';
      LOOP
        SELECT * INTO known FROM {schema}.sales WHERE transaction_id = sale->>'transactionId' FOR UPDATE;
        is_known := FOUND;
        counts := NULL;
        IF is_known AND known.outcome = 'settled' THEN
          IF outcome_now = 'settled' AND known.round IS NULL AND sale->>'round' IS NOT NULL THEN
            UPDATE {schema}.sales SET round = (sale->>'round')::bigint WHERE transaction_id = known.transaction_id;
          END IF;
          EXIT;
        END IF;
        EXIT WHEN is_known AND known.outcome IN ('verified', 'pending') AND outcome_now <> 'settled'
          AND sale->>'code' = 'payment_already_used';
        IF is_known THEN
          sale := sale || jsonb_build_object('firstValid', least(known.first_valid, (sale->>'firstValid')::bigint));
        END IF;
        IF outcome_now = 'settled' THEN
          next_code := sale->>'code';
          counts := 'settled';
        ELSIF outcome_now IN ('refused', 'cancelled') THEN
          next_code := coalesce(nullif(sale->>'code', ''), 'handler_failed');
          IF NOT is_known OR (known.outcome NOT IN ('refused', 'cancelled') AND known.code = '') THEN counts := 'failed'; END IF;
        ELSE
          next_code := CASE WHEN is_known THEN known.code ELSE '' END;
        END IF;
        IF is_known THEN
          UPDATE {schema}.sales SET (${columns}) = (${values}) WHERE transaction_id = known.transaction_id;
          is_changed := true;
        ELSE
          INSERT INTO {schema}.sales (transaction_id, ${columns}) VALUES (sale->>'transactionId', ${values})
            ON CONFLICT (transaction_id) DO NOTHING;
          is_changed := FOUND;
        END IF;
        IF is_changed AND counts IS NOT NULL THEN
          counted := counted || jsonb_build_object('day', (sale->>'timeMs')::bigint / 86400000, 'route', sale->>'route',
            'network', sale->>'network', 'asset', sale->>'asset', 'asset_name', sale->>'assetName', 'decimals', sale->'decimals',
            'settled', (counts = 'settled')::integer, 'amount', CASE WHEN counts = 'settled' THEN sale->>'amount' ELSE '0' END,
            'failed', (counts = 'failed')::integer);
        END IF;
        -- Otherwise another process has recorded it since it was looked up.
        EXIT WHEN is_changed;
      END LOOP;
    END LOOP;
    IF counted <> '[]' THEN PERFORM {schema}.add_revenue(counted); END IF;
  END $$;

  -- Deletes a batch of old sales, and sums up old days: how many rows. Anyone can cause failures, which must not push out
  -- what was paid. A payment can be sent again as long as it is claimed, and must find that it was counted.
  CREATE FUNCTION {schema}.clean_sales(p_max integer, p_max_failed integer, p_oldest_day integer, p_limit integer)
  RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    n_rows integer;
    total integer;
    summed jsonb;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(28013, hashtext('{schema}')) THEN RETURN 0; END IF;
    WITH old AS (
      SELECT transaction_id FROM {schema}.sales WHERE outcome IN ('refused', 'cancelled') AND time_ms < (
        SELECT time_ms FROM {schema}.sales WHERE outcome IN ('refused', 'cancelled')
          ORDER BY time_ms DESC LIMIT 1 OFFSET p_max_failed
      ) ORDER BY time_ms LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {schema}.sales s USING old WHERE s.transaction_id = old.transaction_id;
    GET DIAGNOSTICS total = ROW_COUNT;
    WITH old AS (
      SELECT transaction_id FROM {schema}.sales s WHERE time_ms < (
        SELECT time_ms FROM {schema}.sales ORDER BY time_ms DESC LIMIT 1 OFFSET p_max
      ) AND NOT (is_due AND outcome = 'settled')
        AND NOT EXISTS (SELECT FROM {schema}.claims c WHERE c.transaction_id = s.transaction_id)
        ORDER BY time_ms LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {schema}.sales s USING old WHERE s.transaction_id = old.transaction_id;
    GET DIAGNOSTICS n_rows = ROW_COUNT;
    total := total + n_rows;
    WITH old AS (
      SELECT day, route, network, asset FROM {schema}.revenue WHERE day >= 0 AND day < p_oldest_day
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM {schema}.revenue r USING old WHERE (r.day, r.route, r.network, r.asset) =
        (old.day, old.route, old.network, old.asset) RETURNING r.*
    )
    SELECT count(*), jsonb_agg(to_jsonb(gone) || '{"day": -1}') INTO n_rows, summed FROM gone;
    IF n_rows > 0 THEN PERFORM {schema}.add_revenue(summed); END IF;
    RETURN total + n_rows;
  END $$;
`
