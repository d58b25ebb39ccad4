/** Stores in PostgreSQL 15 or newer, shared by processes on many machines. Requires the package `pg`. */

import {
  type MigrationReport,
  type MigrationState,
  migrateOnce,
  type PostgresComponent,
  readState,
} from './db/postgres/Migrations.js'
import type { PostgresOptions } from './db/postgres/PostgresConnection.js'
import { facilitatorMigrations } from './facilitator/store/postgres/facilitatorMigrations.js'
import { sellerMigrations } from './server/store/postgres/sellerMigrations.js'

export type {
  MigrationReport,
  MigrationState,
  PostgresComponent,
} from './db/postgres/Migrations.js'
export {
  PostgresConnection,
  type PostgresOptions,
  type Statement,
} from './db/postgres/PostgresConnection.js'
export { PostgresError, type PostgresErrorDetails } from './db/postgres/PostgresError.js'
export { StoreError } from './db/StoreError.js'
export { type ErrorCode, errors, X402Error } from './errors.js'
export {
  PostgresSettlements,
  type PostgresSettlementsOptions,
} from './facilitator/store/postgres/PostgresSettlements.js'
export { PostgresClaims, type PostgresClaimsOptions } from './server/store/postgres/PostgresClaims.js'
export { type OpenPostgresSales, openPostgresSales } from './server/store/postgres/PostgresSales.js'

/** Options of {@link migratePostgres}. */
export type MigratePostgresOptions = PostgresOptions & {
  /**
   * A role that is granted only the rights that a store needs at run time. Pass the role with every migration, because
   * new tables need new grants.
   *
   * @default none; the role that runs the migration owns and uses the tables
   */
  readonly runtimeRole?: string | undefined
}

/**
 * Creates the tables of a component, or brings them up to date. Stores migrate on opening if their role owns the
 * schema. Call this function to migrate beforehand, with a separate role.
 *
 * @throws StoreError `store_too_new` if a later version wrote them; `store_failed` if the database cannot be used
 * @example
 * await migratePostgres('facilitator', { address: 'postgres://owner@db.example/latchkey', runtimeRole: 'facilitator' })
 */
export function migratePostgres(
  component: PostgresComponent,
  options: MigratePostgresOptions = {},
): Promise<MigrationReport> {
  return migrateOnce(options, migrationsOf(component))
}

/**
 * Returns the version of a component's tables and the version that this program needs. Changes nothing.
 *
 * @throws StoreError `store_too_new` if a later version wrote them; `store_failed` if the database cannot be used
 */
export function postgresMigrationState(
  component: PostgresComponent,
  options: PostgresOptions = {},
): Promise<MigrationState> {
  return readState(options, migrationsOf(component))
}

const migrationsOf = (component: PostgresComponent) =>
  component === 'facilitator' ? facilitatorMigrations : sellerMigrations
