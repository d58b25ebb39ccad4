/** Stores in PostgreSQL (15 or newer), shared by the processes of many machines. Needs the package `pg`. */
import { facilitatorMigrations } from './store/postgres/facilitatorMigrations.js'
import {
  type MigrationReport,
  type MigrationState,
  migrateOnce,
  type PostgresComponent,
  readState,
} from './store/postgres/Migrations.js'
import type { PostgresOptions } from './store/postgres/PostgresConnection.js'
import { sellerMigrations } from './store/postgres/sellerMigrations.js'

export { type ErrorCode, errors, X402Error } from './errors.js'
export type {
  MigrationReport,
  MigrationState,
  PostgresComponent,
} from './store/postgres/Migrations.js'
export { type OpenPostgresSales, openPostgresSales } from './store/postgres/openPostgresSales.js'
export { PostgresClaims, type PostgresClaimsOptions } from './store/postgres/PostgresClaims.js'
export {
  PostgresConnection,
  type PostgresOptions,
  type Statement,
} from './store/postgres/PostgresConnection.js'
export { PostgresError, type PostgresErrorDetails } from './store/postgres/PostgresError.js'
export { PostgresSettlements, type PostgresSettlementsOptions } from './store/postgres/PostgresSettlements.js'
export { StoreError } from './store/StoreError.js'

/** What is migrated, and for which role. */
export type MigratePostgresOptions = PostgresOptions & {
  /**
   * A role that gets what a store needs at run time, and no more. Name it with every migration: new tables need new rights.
   *
   * @default none: the role that migrates owns the tables, and uses them
   */
  readonly runtimeRole?: string | undefined
}

/**
 * Creates the tables of a component, or brings them up to date. Stores do that themselves when they are opened by a role that
 * owns the schema; with this an operator does it ahead, by a role of its own.
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
 * The version of the tables of a component, and the one that this program needs. Changes nothing.
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
