/** The tables of a facilitator: settlements, their limits, leases and holds. */
import type { Migrations } from './Migrations.js'

export const facilitatorMigrations: Migrations = { component: 'facilitator', versions: [], grants: [] }
