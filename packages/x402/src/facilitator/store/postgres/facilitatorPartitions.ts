/**
 * Weekly partitions. These functions run with the rights of the owner, because a role that uses the tables at run time
 * need not be able to create or drop partitions.
 */
export const facilitatorPartitions = `
CREATE OR REPLACE FUNCTION {schema}.create_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  week timestamptz;
  name text;
BEGIN
  FOR ahead IN 0..2 LOOP
    week := (date_trunc('week', clock_timestamp() AT TIME ZONE 'UTC') + ahead * interval '7 days') AT TIME ZONE 'UTC';
    name := 'settlements_' || to_char(week AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN EXISTS (SELECT FROM pg_class c WHERE c.relname = name AND c.relnamespace = '{schema}'::regnamespace);
    BEGIN
      EXECUTE format('CREATE TABLE IF NOT EXISTS {schema}.%I PARTITION OF {schema}.settlements FOR VALUES FROM (%L) TO (%L)',
        name, week, week + interval '7 days');
    EXCEPTION
      -- Another replica creates it, is using the table, or the default partition has rows of that week.
      WHEN lock_not_available OR duplicate_table OR check_violation OR unique_violation THEN NULL;
    END;
  END LOOP;
END $$;

-- What came while its week had no partition. Not all at once: the next call continues.
CREATE OR REPLACE FUNCTION {schema}.archive_default(before timestamptz, is_dropped boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  rows tid[];
BEGIN
  rows := ARRAY(SELECT s.ctid FROM {schema}.settlements_default s WHERE s.created_at < before
    AND NOT EXISTS (SELECT FROM {schema}.pending_settlements p WHERE p.transaction_id = s.transaction_id)
    LIMIT 20000 FOR UPDATE OF s SKIP LOCKED);
  IF cardinality(rows) = 0 THEN RETURN; END IF;
  IF NOT is_dropped THEN
    CREATE TABLE IF NOT EXISTS {schema}.archived_settlements_default (LIKE {schema}.settlements);
    INSERT INTO {schema}.archived_settlements_default SELECT * FROM {schema}.settlements_default WHERE ctid = ANY (rows);
  END IF;
  DELETE FROM {schema}.settlements_default WHERE ctid = ANY (rows);
END $$;

CREATE OR REPLACE FUNCTION {schema}.archive_settlements(before timestamptz, is_dropped boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  part record;
  has_pending boolean;
  archived integer := 0;
BEGIN
  -- One replica at a time; the others have nothing to do.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('archive {schema}', 404)) THEN RETURN 0; END IF;
  -- Never what may still matter, whatever the clock of the caller says.
  before := least(before, clock_timestamp() - interval '1 day 1 hour');
  PERFORM {schema}.archive_default(before, is_dropped);
  FOR part IN
    SELECT c.relname AS name, to_timestamp(substr(c.relname, 13) || '+00', 'YYYYMMDDTZH') AS week
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = '{schema}.settlements'::regclass AND c.relname ~ '^settlements_[0-9]{8}$'
    ORDER BY 1
  LOOP
    CONTINUE WHEN part.week + interval '7 days' > before;
    BEGIN
      LOCK TABLE {schema}.settlements IN ACCESS EXCLUSIVE MODE;
      SELECT EXISTS (SELECT FROM {schema}.pending_settlements
        WHERE created_at >= part.week AND created_at < part.week + interval '7 days') INTO has_pending;
      CONTINUE WHEN has_pending;
      EXECUTE format('ALTER TABLE {schema}.settlements DETACH PARTITION {schema}.%I', part.name);
      IF is_dropped THEN
        EXECUTE format('DROP TABLE {schema}.%I', part.name);
      ELSE
        EXECUTE format('ALTER TABLE {schema}.%I RENAME TO %I', part.name, 'archived_' || part.name);
      END IF;
      archived := archived + 1;
    EXCEPTION WHEN lock_not_available THEN
      -- Next time: those that use the table are not to wait for this.
      RETURN archived;
    END;
  END LOOP;
  RETURN archived;
END $$;
REVOKE ALL ON FUNCTION {schema}.create_partitions() FROM PUBLIC;
REVOKE ALL ON FUNCTION {schema}.archive_default(timestamptz, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION {schema}.archive_settlements(timestamptz, boolean) FROM PUBLIC;
`
