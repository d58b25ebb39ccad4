/**
 * Claims and held answers, and the functions that change them. Each change is one function, so that it takes one round
 * trip. The same owner can repeat it: after a lost response, the call is repeated with the same result.
 *
 * Locks are taken in one order: a claim, the lock of cleaning, a slot of the held bytes; a sale, a sum. Cleaning skips
 * rows that others have locked.
 */

/** The key of the advisory lock that one cleaning holds at a time. */
const lock = `28012, hashtext('{schema}')`

export const claimsSchema = `
  CREATE TABLE {schema}.seller (id text NOT NULL);
  INSERT INTO {schema}.seller VALUES (replace(gen_random_uuid()::text, '-', ''));

  CREATE TABLE {schema}.claims (
    transaction_id text PRIMARY KEY,
    owner text NOT NULL,
    -- What the owner was told.
    result text NOT NULL CHECK (result IN ('new', 'again', 'held')),
    state text NOT NULL CHECK (state IN ('serving', 'open', 'served')),
    binding text NOT NULL,
    until_at timestamptz NOT NULL,
    network text NOT NULL,
    forget_round bigint NOT NULL,
    is_done boolean NOT NULL DEFAULT false,
    -- Null without an answer.
    answer_bytes bigint,
    answer_status integer,
    answer_headers text,
    answer_body bytea,
    -- When the answer is deleted; null until it was served.
    answer_until timestamptz
  ) WITH (fillfactor = 70);
  -- They are short-lived: compressing them would cost more than their space does.
  ALTER TABLE {schema}.claims ALTER COLUMN answer_body SET STORAGE EXTERNAL;
  CREATE INDEX claims_by_round ON {schema}.claims (network, forget_round);
  CREATE INDEX claims_served ON {schema}.claims (answer_until) WHERE answer_until IS NOT NULL;

  -- The sum of answer_bytes, in several rows, so that those who hold answers at the same time do not wait for each other.
  CREATE TABLE {schema}.held_bytes (slot integer PRIMARY KEY, bytes bigint NOT NULL) WITH (fillfactor = 10);
  INSERT INTO {schema}.held_bytes SELECT slot, 0 FROM generate_series(0, 15) AS slot;

  CREATE FUNCTION {schema}.count_held(p_id text, p_bytes bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE {schema}.held_bytes SET bytes = bytes + p_bytes WHERE slot = (hashtext(p_id) & 15) AND p_bytes <> 0;
  $$;

  -- As decideClaim in Claims.ts, by the clock of the database.
  CREATE FUNCTION {schema}.claim_payment(
    p_id text, p_owner text, p_binding text, p_proof text, p_lease_ms bigint, p_network text, p_forget_round bigint, p_sale jsonb,
    OUT o_result text, OUT o_status integer, OUT o_headers text, OUT o_body bytea
  ) LANGUAGE plpgsql AS $$
  DECLARE
    known {schema}.claims;
    is_ready boolean;
    lease interval := p_lease_ms * interval '1 millisecond';
  BEGIN
    LOOP
      INSERT INTO {schema}.claims (transaction_id, owner, result, state, binding, until_at, network, forget_round)
        VALUES (p_id, p_owner, 'new', 'serving', p_binding, clock_timestamp() + lease, p_network, p_forget_round)
        ON CONFLICT (transaction_id) DO NOTHING;
      IF FOUND THEN o_result := 'new'; EXIT; END IF;
      SELECT * INTO known FROM {schema}.claims WHERE transaction_id = p_id FOR UPDATE;
      -- It may have been forgotten meanwhile.
      EXIT WHEN FOUND;
    END LOOP;
    IF o_result IS NULL AND known.owner = p_owner AND known.state = 'serving' THEN
      -- The response to the same call was lost.
      o_result := known.result;
    ELSIF o_result IS NULL THEN
      is_ready := known.answer_bytes IS NOT NULL AND p_proof = 'secret'
        AND (known.answer_until IS NULL OR known.answer_until > clock_timestamp());
      o_result := CASE
        WHEN known.binding <> p_binding OR p_proof = 'hash' THEN 'taken'
        WHEN known.state = 'serving' AND known.until_at >= clock_timestamp() THEN
          CASE WHEN known.is_done AND is_ready THEN 'held' ELSE 'busy' END
        WHEN known.state = 'served' THEN CASE WHEN is_ready THEN 'held' ELSE 'taken' END
        WHEN known.is_done THEN 'held'
        ELSE 'again'
      END;
      IF o_result IN ('busy', 'taken') THEN RETURN; END IF;
      UPDATE {schema}.claims SET owner = p_owner, result = o_result, state = 'serving', answer_until = NULL,
          until_at = clock_timestamp() + lease
        WHERE transaction_id = p_id;
    END IF;
    IF p_sale IS NOT NULL THEN PERFORM {schema}.record_sales(jsonb_build_array(p_sale)); END IF;
    IF o_result <> 'held' THEN RETURN; END IF;
    o_status := known.answer_status;
    o_headers := known.answer_headers;
    o_body := known.answer_body;
  END $$;

  -- Whether the owner has the claim. An answer that has no room is not kept.
  CREATE FUNCTION {schema}.hold_answer(
    p_id text, p_owner text, p_status integer, p_headers text, p_body bytea, p_bytes bigint, p_max bigint
  ) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    before bigint;
    total bigint;
    one record;
    has_room boolean;
  BEGIN
    SELECT coalesce(answer_bytes, 0) INTO before FROM {schema}.claims
      WHERE transaction_id = p_id AND owner = p_owner FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    SELECT sum(bytes) - before INTO total FROM {schema}.held_bytes;
    IF p_bytes <= p_max AND total + p_bytes > p_max THEN
      PERFORM pg_advisory_xact_lock(${lock});
      SELECT sum(bytes) - before INTO total FROM {schema}.held_bytes;
      FOR one IN SELECT transaction_id, answer_bytes FROM {schema}.claims
        WHERE answer_until IS NOT NULL AND transaction_id <> p_id ORDER BY answer_until FOR UPDATE SKIP LOCKED
      LOOP
        EXIT WHEN total + p_bytes <= p_max;
        UPDATE {schema}.claims SET answer_bytes = NULL, answer_status = NULL, answer_headers = NULL, answer_body = NULL,
          answer_until = NULL WHERE transaction_id = one.transaction_id;
        PERFORM {schema}.count_held(one.transaction_id, -one.answer_bytes);
        total := total - one.answer_bytes;
      END LOOP;
    END IF;
    has_room := p_bytes <= p_max AND total + p_bytes <= p_max;
    UPDATE {schema}.claims SET is_done = true, answer_until = NULL,
        answer_bytes = CASE WHEN has_room THEN p_bytes END, answer_status = CASE WHEN has_room THEN p_status END,
        answer_headers = CASE WHEN has_room THEN p_headers END, answer_body = CASE WHEN has_room THEN p_body END
      WHERE transaction_id = p_id;
    PERFORM {schema}.count_held(p_id, CASE WHEN has_room THEN p_bytes ELSE 0 END - before);
    RETURN true;
  END $$;

  CREATE FUNCTION {schema}.finish_claim(p_id text, p_owner text, p_end text, p_keep_ms bigint) RETURNS void
  LANGUAGE plpgsql AS $$
  DECLARE
    freed bigint;
  BEGIN
    IF p_end = 'forgotten' THEN
      DELETE FROM {schema}.claims WHERE transaction_id = p_id AND owner = p_owner RETURNING answer_bytes INTO freed;
      IF freed IS NOT NULL THEN PERFORM {schema}.count_held(p_id, -freed); END IF;
    ELSE
      UPDATE {schema}.claims SET state = p_end, answer_until = CASE WHEN p_end = 'served' AND answer_bytes IS NOT NULL
          THEN clock_timestamp() + p_keep_ms * interval '1 millisecond' END
        WHERE transaction_id = p_id AND owner = p_owner;
    END IF;
  END $$;

  -- Deletes a batch of what is not needed any more: how many rows, and 0 while another process does it.
  CREATE FUNCTION {schema}.clean_claims(p_network text, p_round bigint, p_limit integer) RETURNS integer
  LANGUAGE plpgsql AS $$
  DECLARE
    n_rows integer;
    total integer := 0;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(${lock}) THEN RETURN 0; END IF;
    WITH old AS (
      SELECT transaction_id FROM {schema}.claims WHERE network = p_network AND forget_round < p_round
        ORDER BY forget_round LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM {schema}.claims c USING old WHERE c.transaction_id = old.transaction_id
        RETURNING c.transaction_id, c.answer_bytes
    ), freed AS (
      SELECT (hashtext(transaction_id) & 15) AS slot, sum(coalesce(answer_bytes, 0)) AS bytes, count(*) AS n FROM gone GROUP BY 1
    ), counted AS (
      UPDATE {schema}.held_bytes h SET bytes = h.bytes - freed.bytes FROM freed WHERE h.slot = freed.slot AND freed.bytes > 0
    )
    SELECT coalesce(sum(n), 0) INTO n_rows FROM freed;
    total := total + n_rows;
    WITH old AS (
      SELECT transaction_id, answer_bytes FROM {schema}.claims WHERE answer_until <= clock_timestamp()
        ORDER BY answer_until LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
      UPDATE {schema}.claims c SET answer_bytes = NULL, answer_status = NULL, answer_headers = NULL, answer_body = NULL,
        answer_until = NULL FROM old WHERE c.transaction_id = old.transaction_id
    ), freed AS (
      SELECT (hashtext(transaction_id) & 15) AS slot, sum(answer_bytes) AS bytes, count(*) AS n FROM old GROUP BY 1
    ), counted AS (
      UPDATE {schema}.held_bytes h SET bytes = h.bytes - freed.bytes FROM freed WHERE h.slot = freed.slot
    )
    SELECT coalesce(sum(n), 0) INTO n_rows FROM freed;
    total := total + n_rows;
    -- The payment of a pass can be sent again as long as it is claimed, and must find what it was issued with.
    WITH old AS (
      SELECT transaction_id FROM {schema}.passes p WHERE until_at <= clock_timestamp()
        AND NOT EXISTS (SELECT FROM {schema}.claims c WHERE c.transaction_id = p.transaction_id)
        ORDER BY until_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {schema}.passes p USING old WHERE p.transaction_id = old.transaction_id;
    GET DIAGNOSTICS n_rows = ROW_COUNT;
    RETURN total + n_rows;
  END $$;
`
