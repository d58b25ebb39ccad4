/**
 * Version 2 of the seller's tables: short leases that gates renew, and a number that fences off a gate that was cut
 * off.
 *
 * Replicas of version 1 continue to use their functions on these tables. These replicas do not know the fence of a
 * claim, take a begun claim for done, and leave an owner that differs from the fenced one. The owner identifies their
 * claims.
 */
export const leasesSchema = `
  CREATE SEQUENCE {schema}.claim_fences;
  ALTER TABLE {schema}.claims
    ADD COLUMN fence bigint NOT NULL DEFAULT 0,
    ADD COLUMN fenced_owner text NOT NULL DEFAULT '',
    -- Whether it counts as done only because its handler began.
    ADD COLUMN is_begun boolean NOT NULL DEFAULT false;

  -- As claim_payment, with a number for the claim.
  CREATE FUNCTION {schema}.claim_fenced(
    p_id text, p_owner text, p_binding text, p_proof text, p_lease_ms bigint, p_network text, p_forget_round bigint, p_sale jsonb,
    OUT o_result text, OUT o_fence bigint, OUT o_status integer, OUT o_headers text, OUT o_body bytea
  ) LANGUAGE plpgsql AS $$
  DECLARE
    known {schema}.claims;
    is_ready boolean;
    is_done boolean;
    lease interval := p_lease_ms * interval '1 millisecond';
  BEGIN
    LOOP
      INSERT INTO {schema}.claims
          (transaction_id, owner, result, state, binding, until_at, network, forget_round, fence, fenced_owner)
        VALUES (p_id, p_owner, 'new', 'serving', p_binding, clock_timestamp() + lease, p_network, p_forget_round,
          nextval('{schema}.claim_fences'), p_owner)
        ON CONFLICT (transaction_id) DO NOTHING RETURNING fence INTO o_fence;
      IF FOUND THEN o_result := 'new'; EXIT; END IF;
      SELECT * INTO known FROM {schema}.claims WHERE transaction_id = p_id FOR UPDATE;
      -- It may have been forgotten meanwhile.
      EXIT WHEN FOUND;
    END LOOP;
    IF o_result IS NULL AND known.owner = p_owner AND known.state = 'serving' THEN
      -- The response to the same call was lost.
      o_result := known.result;
      o_fence := known.fence;
    ELSIF o_result IS NULL THEN
      -- Whether the handler began is not known of a replica of version 1.
      is_done := known.is_done OR (known.state = 'serving' AND known.owner <> known.fenced_owner);
      is_ready := known.answer_bytes IS NOT NULL AND p_proof = 'secret'
        AND (known.answer_until IS NULL OR known.answer_until > clock_timestamp());
      o_result := CASE
        WHEN known.binding <> p_binding OR p_proof = 'hash' THEN 'taken'
        WHEN known.state = 'serving' AND known.until_at >= clock_timestamp() THEN
          CASE WHEN is_done AND is_ready THEN 'held' ELSE 'busy' END
        WHEN known.state = 'served' THEN CASE WHEN is_ready THEN 'held' ELSE 'taken' END
        WHEN is_done THEN 'held'
        ELSE 'again'
      END;
      IF o_result IN ('busy', 'taken') THEN RETURN; END IF;
      o_fence := nextval('{schema}.claim_fences');
      UPDATE {schema}.claims c SET owner = p_owner, fence = o_fence, fenced_owner = p_owner, result = o_result, state = 'serving',
          is_done = (o_result = 'held'), is_begun = false, answer_until = NULL, until_at = clock_timestamp() + lease
        WHERE c.transaction_id = p_id;
    END IF;
    IF p_sale IS NOT NULL THEN PERFORM {schema}.record_sales(jsonb_build_array(p_sale)); END IF;
    IF o_result <> 'held' THEN RETURN; END IF;
    o_status := known.answer_status;
    o_headers := known.answer_headers;
    o_body := known.answer_body;
  END $$;

  -- The owners that still hold their claims. Rows are locked in one order, as two gates may renew at the same time.
  CREATE FUNCTION {schema}.renew_claims(p_ids text[], p_owners text[], p_fences bigint[], p_lease_ms bigint)
  RETURNS SETOF text LANGUAGE sql AS $$
    WITH given AS (
      SELECT * FROM unnest(p_ids, p_owners, p_fences) AS one (transaction_id, owner, fence)
    ), own AS (
      SELECT c.transaction_id FROM {schema}.claims c JOIN given USING (transaction_id, owner, fence)
        WHERE c.state = 'serving' ORDER BY c.transaction_id FOR UPDATE OF c
    )
    UPDATE {schema}.claims c SET until_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
      FROM own WHERE c.transaction_id = own.transaction_id RETURNING c.owner;
  $$;

  -- Whether the owner has the claim, and may run a handler that must not run twice.
  CREATE FUNCTION {schema}.begin_claim(p_id text, p_owner text, p_fence bigint) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE {schema}.claims SET is_begun = is_begun OR NOT is_done, is_done = true
      WHERE transaction_id = p_id AND owner = p_owner AND fence = p_fence AND state = 'serving';
    RETURN FOUND;
  END $$;

  CREATE FUNCTION {schema}.hold_answer(
    p_id text, p_owner text, p_status integer, p_headers text, p_body bytea, p_bytes bigint, p_max bigint, p_fence bigint
  ) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    was_begun boolean;
  BEGIN
    SELECT is_begun INTO was_begun FROM {schema}.claims
      WHERE transaction_id = p_id AND owner = p_owner AND (p_fence IS NULL OR fence = p_fence) FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    IF was_begun THEN UPDATE {schema}.claims SET is_begun = false WHERE transaction_id = p_id; END IF;
    RETURN {schema}.hold_answer(p_id, p_owner, p_status, p_headers, p_body, p_bytes, p_max);
  END $$;

  CREATE FUNCTION {schema}.finish_claim(p_id text, p_owner text, p_end text, p_keep_ms bigint, p_fence bigint)
  RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    was_begun boolean;
  BEGIN
    SELECT is_begun INTO was_begun FROM {schema}.claims
      WHERE transaction_id = p_id AND owner = p_owner AND (p_fence IS NULL OR fence = p_fence) FOR UPDATE;
    -- One that is gone was ended, and its response was lost.
    IF NOT FOUND THEN RETURN NOT EXISTS (SELECT FROM {schema}.claims WHERE transaction_id = p_id); END IF;
    -- The handler failed, and may run again.
    IF was_begun AND p_end = 'open' THEN
      UPDATE {schema}.claims SET is_begun = false, is_done = false WHERE transaction_id = p_id;
    END IF;
    PERFORM {schema}.finish_claim(p_id, p_owner, p_end, p_keep_ms);
    RETURN true;
  END $$;
`
