/**
 * Version 3 of the seller's tables: purchases that buyers name. A purchase is deleted with the claim of its payment.
 * Replicas of version 2 continue to use their functions on these tables, and know no purchases.
 */
export const purchasesSchema = `
  CREATE TABLE {schema}.purchases (
    key text PRIMARY KEY,
    transaction_id text NOT NULL UNIQUE REFERENCES {schema}.claims ON DELETE CASCADE,
    fingerprint text NOT NULL,
    binding text NOT NULL,
    payload text NOT NULL
  );

  -- As claim_fenced, for a purchase: 'purchased' with its first payment if that is another one. Claims of one purchase wait
  -- for each other. Their lock is taken before all others.
  CREATE FUNCTION {schema}.claim_purchase(
    p_id text, p_owner text, p_binding text, p_proof text, p_lease_ms bigint, p_network text, p_forget_round bigint, p_sale jsonb,
    p_key text, p_fingerprint text, p_payload text, p_replaces text, p_is_patient boolean,
    OUT o_result text, OUT o_fence bigint, OUT o_status integer, OUT o_headers text, OUT o_body bytea,
    OUT o_id text, OUT o_fingerprint text, OUT o_binding text, OUT o_payload text
  ) LANGUAGE plpgsql AS $$
  DECLARE
    known {schema}.purchases;
  BEGIN
    PERFORM pg_advisory_xact_lock(28013, hashtext('{schema}' || p_key));
    SELECT * INTO known FROM {schema}.purchases WHERE key = p_key;
    IF FOUND AND known.transaction_id <> p_id AND known.transaction_id IS DISTINCT FROM p_replaces THEN
      o_result := 'purchased';
      o_id := known.transaction_id;
      o_fingerprint := known.fingerprint;
      o_binding := known.binding;
      o_payload := known.payload;
      RETURN;
    END IF;
    IF p_is_patient AND EXISTS (
      SELECT FROM {schema}.claims WHERE transaction_id = p_id AND owner <> p_owner AND state = 'serving' AND until_at >= clock_timestamp()
    ) THEN
      o_result := 'busy';
      RETURN;
    END IF;
    SELECT f.o_result, f.o_fence, f.o_status, f.o_headers, f.o_body INTO o_result, o_fence, o_status, o_headers, o_body
      FROM {schema}.claim_fenced(p_id, p_owner, p_binding, p_proof, p_lease_ms, p_network, p_forget_round, p_sale) AS f;
    IF o_result IN ('busy', 'taken') THEN RETURN; END IF;
    IF p_replaces IS NOT NULL THEN
      DELETE FROM {schema}.purchases WHERE key = p_key AND transaction_id = p_replaces;
    END IF;
    -- A payment belongs to the first purchase that it was claimed for.
    INSERT INTO {schema}.purchases VALUES (p_key, p_id, p_fingerprint, p_binding, p_payload) ON CONFLICT DO NOTHING;
  END $$;
`
