/** The settings that replicas announce to each other, as digests. */

import type { PostgresConnection, Statement } from '../../../db/postgres/PostgresConnection.js'
import type { ReplicaSettings, SettingDigests, SharedSettings } from '../Settlement.js'

/** Version 2 of the facilitator's tables. Unlogged, because replicas announce their settings again within seconds. */
export const replicaTable = `
CREATE UNLOGGED TABLE {schema}.replicas (
  name text PRIMARY KEY,
  settings jsonb NOT NULL,
  seen_at timestamptz NOT NULL
);
`

export const replicaGrants = ['GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.replicas TO {role}']

/** Settings of further replicas are not reported. */
const maxReplicas = 1_000

type Row = { readonly name: string; readonly settings: SettingDigests }

export class PostgresSettings implements SharedSettings {
  readonly #connection: PostgresConnection
  readonly #replica: string
  readonly #announce: Statement
  readonly #leave: Statement

  constructor(connection: PostgresConnection, replica: string) {
    this.#connection = connection
    this.#replica = replica
    const schema = connection.quotedSchema
    this.#announce = {
      name: 'latchkey_replicas_announce',
      text: `WITH own AS (
          INSERT INTO ${schema}.replicas (name, settings, seen_at) VALUES ($1, $2::jsonb, clock_timestamp())
          ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, seen_at = excluded.seen_at
        ), gone AS (
          DELETE FROM ${schema}.replicas WHERE name IN (
            SELECT r.name FROM ${schema}.replicas r
            WHERE r.name <> $1 AND r.seen_at < clock_timestamp() - interval '1 hour' FOR UPDATE SKIP LOCKED)
        )
        SELECT name, settings FROM ${schema}.replicas
        WHERE name <> $1 AND seen_at > clock_timestamp() - interval '1 minute' ORDER BY name LIMIT ${maxReplicas}`,
    }
    this.#leave = { name: 'latchkey_replicas_leave', text: `DELETE FROM ${schema}.replicas WHERE name = $1` }
  }

  async announce(settings: SettingDigests): Promise<readonly ReplicaSettings[]> {
    const values = [this.#replica, JSON.stringify(settings)]
    const rows = await this.#connection.read<Row>(this.#announce, values)
    return rows.map(({ name, settings: digests }) => ({ replica: name, settings: digests }))
  }

  /** Prevents others from comparing themselves with a stopped replica. */
  async leave(): Promise<void> {
    await this.#connection.read(this.#leave, [this.#replica])
  }
}
