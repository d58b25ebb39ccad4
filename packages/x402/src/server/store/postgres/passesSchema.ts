/**
 * Passes, and the functions that count their requests. Each request is counted once, even if the response was lost and
 * the call is repeated.
 */

/** How many calls a pass remembers, and how long a call may be repeated. */
const [kept, window] = [64, `interval '1 minute'`]

const remember = `(CASE WHEN cardinality(known.calls) >= ${kept} THEN known.calls[2:] ELSE known.calls END) || p_call,
        called_at = (CASE WHEN cardinality(known.calls) >= ${kept} THEN known.called_at[2:] ELSE known.called_at END) || clock_timestamp()`
const checkKnown = `IF p_is_repeated AND cardinality(known.calls) >= ${kept} AND known.called_at[1] > clock_timestamp() - ${window} THEN
      RAISE EXCEPTION 'it is not known any more whether the request of a pass was counted';
    END IF;`

export const passesSchema = `
  CREATE TABLE {schema}.passes (
    transaction_id text PRIMARY KEY,
    until_at timestamptz NOT NULL,
    -- Null if they are not counted.
    requests integer,
    taken integer NOT NULL DEFAULT 0 CHECK (taken >= 0 AND (requests IS NULL OR taken <= requests)),
    -- The latest calls, and when they were made.
    calls text[] NOT NULL DEFAULT '{}',
    called_at timestamptz[] NOT NULL DEFAULT '{}'
  ) WITH (fillfactor = 50);
  CREATE INDEX passes_by_time ON {schema}.passes (until_at);

  CREATE FUNCTION {schema}.issue_pass(p_id text, p_length_ms bigint, p_requests integer, OUT o_until_ms bigint, OUT o_left integer)
  LANGUAGE plpgsql AS $$
  BEGIN
    LOOP
      SELECT (extract(epoch FROM until_at) * 1000)::bigint, requests - taken INTO o_until_ms, o_left
        FROM {schema}.passes WHERE transaction_id = p_id;
      EXIT WHEN FOUND;
      INSERT INTO {schema}.passes (transaction_id, until_at, requests)
        VALUES (p_id, date_trunc('second', clock_timestamp()) + p_length_ms * interval '1 millisecond', p_requests)
        ON CONFLICT (transaction_id) DO NOTHING;
    END LOOP;
  END $$;

  CREATE FUNCTION {schema}.take_pass(p_id text, p_call text, p_is_repeated boolean, OUT o_result text, OUT o_left integer)
  LANGUAGE plpgsql AS $$
  DECLARE
    known {schema}.passes;
  BEGIN
    SELECT * INTO known FROM {schema}.passes WHERE transaction_id = p_id FOR UPDATE;
    IF FOUND AND p_call = ANY (known.calls) THEN
      o_result := 'taken';
      o_left := known.requests - known.taken;
      RETURN;
    END IF;
    ${checkKnown}
    IF known.requests IS NULL OR known.until_at <= clock_timestamp() THEN o_result := 'unknown'; RETURN; END IF;
    IF known.taken >= known.requests THEN o_result := 'used_up'; RETURN; END IF;
    UPDATE {schema}.passes SET taken = taken + 1, calls = ${remember} WHERE transaction_id = p_id;
    o_result := 'taken';
    o_left := known.requests - known.taken - 1;
  END $$;

  CREATE FUNCTION {schema}.give_back_pass(p_id text, p_call text, p_is_repeated boolean) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    known {schema}.passes;
  BEGIN
    SELECT * INTO known FROM {schema}.passes WHERE transaction_id = p_id FOR UPDATE;
    IF NOT FOUND OR p_call = ANY (known.calls) OR known.taken = 0 THEN RETURN; END IF;
    ${checkKnown}
    UPDATE {schema}.passes SET taken = taken - 1, calls = ${remember} WHERE transaction_id = p_id;
  END $$;
`
