#!/bin/sh
# Runs once, when the database is created: the role of the replicas, which may use what `latchkey facilitator migrate` grants it
# and can neither create nor drop a table.
set -eu
password="$(cat /run/secrets/facilitator-password)"
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set=password="$password" <<'SQL'
CREATE ROLE latchkey_facilitator LOGIN PASSWORD :'password' CONNECTION LIMIT 40;
REVOKE ALL ON DATABASE latchkey FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE latchkey TO latchkey_facilitator;
SQL
