/** The tables of a facilitator: settlements, their limits, leases and holds. */
import { facilitatorFunctions } from './facilitatorFunctions.js'
import { facilitatorGrants, facilitatorPartitions, facilitatorTables } from './facilitatorTables.js'
import { holdFunctions } from './holdFunctions.js'
import type { Migrations } from './Migrations.js'
import { replicaGrants, replicaTable } from './PostgresSettings.js'

export const facilitatorMigrations: Migrations = {
  component: 'facilitator',
  versions: [
    [
      facilitatorTables,
      facilitatorPartitions,
      facilitatorFunctions,
      holdFunctions,
      'SELECT {schema}.create_partitions()',
    ].join('\n'),
    replicaTable,
  ],
  grants: [...facilitatorGrants, ...replicaGrants],
}
