/** The tables of a facilitator: settlements, their limits, leases and holds, and the catalogue. */

import type { Migrations } from '../../../db/postgres/Migrations.js'
import { claimantGrants, claimantTable } from './claimants.js'
import { facilitatorFunctions } from './facilitatorFunctions.js'
import { admissionColumns, facilitatorGrants, facilitatorPartitions, facilitatorTables } from './facilitatorTables.js'
import { holdFunctions } from './holdFunctions.js'
import { listingGrants, listingTable } from './PostgresListings.js'
import { replicaGrants, replicaTable } from './PostgresSettings.js'

export const facilitatorMigrations: Migrations = {
  component: 'facilitator',
  versions: [
    facilitatorTables,
    replicaTable,
    // The latest version of all functions. Each one replaces its earlier version.
    [facilitatorPartitions, facilitatorFunctions, holdFunctions, 'SELECT {schema}.create_partitions()'].join('\n'),
    listingTable,
    [claimantTable, facilitatorFunctions, holdFunctions].join('\n'),
    [admissionColumns, facilitatorFunctions, holdFunctions].join('\n'),
  ],
  grants: [...facilitatorGrants, ...replicaGrants, ...listingGrants, ...claimantGrants],
}
