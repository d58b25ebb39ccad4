/** `latchkey facilitator migrate`: updates the tables of facilitators before they start. */
import type { MigrationReport, MigrationState } from '@latchkey/x402/postgres'
import { command, jsonOption } from '../../Command.js'
import { UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { storeFrom, storeNotes, storeOptions } from '../../facilitator/StoreAddress.js'
import { explainStoreError } from '../../facilitator/storeErrors.js'
import { printJson, printResult } from '../../messages.js'

export const facilitatorMigrateCommand = command({
  description: `Create the facilitator tables in a PostgreSQL database, or migrate them to the current version, with a role that may do so. \
Facilitators that start with such a role migrate on their own; run this command first to start them with a role of fewer rights. \
The command is safe to run while facilitators of the previous version are running, and several times at once.`,
  options: {
    ...storeOptions,
    store: {
      ...storeOptions.store,
      placeholder: 'ADDRESS',
      description: 'PostgreSQL database to migrate: postgres://USER@HOST/DATABASE',
    },
    'grant-to': {
      type: 'string',
      placeholder: 'ROLE',
      description: 'role of the facilitators, if it is not the role of this command: grant it the use of the tables',
    },
    check: {
      type: 'boolean',
      description: 'change nothing; exit with code 8 if a migration is due or this role lacks a right, else with 0',
    },
    ...jsonOption,
  },
  notes: storeNotes,
  examples: [
    'latchkey facilitator migrate --store postgres://owner@db.example/latchkey --grant-to facilitator',
    'latchkey facilitator migrate --check --json',
  ],
  exits: ['unreachable', 'password', 'migrationDue'],
  run: async ({ options }) => {
    const where = storeFrom(options, process.env)
    if (where.type !== 'postgres') {
      throw new UsageError('only a PostgreSQL database needs this command', {
        hint: 'give --store postgres://...; a SQLite file is migrated when a facilitator opens it',
      })
    }
    if (options.check && options['grant-to'] !== undefined) throw new UsageError('--check grants nothing')
    const { address } = where
    const { migratePostgres, postgresMigrationState } = await import('@latchkey/x402/postgres')
    try {
      if (options.check) return report(await postgresMigrationState('facilitator', { address }), options.json)
      const done = await migratePostgres('facilitator', { address, runtimeRole: options['grant-to'] })
      if (options.json) printJson({ schema: done.schema, from: done.from, to: done.to })
      else printResult(`${describe(done)}\n`)
      return exitCodes.ok
    } catch (error) {
      throw explainStoreError(error)
    }
  },
})

function report(
  { server, schema, version, needed, mayMigrate, notGranted }: MigrationState,
  isJson: true | boolean | undefined,
): number {
  const isDue = version !== needed || notGranted.length > 0
  if (isJson) printJson({ server, schema, version, needed, due: isDue, mayMigrate, notGranted })
  else if (!isDue) printResult(`The tables in schema ${schema} of ${server} are up to date (version ${version}).\n`)
  else if (version === needed) {
    const tables = `The tables in schema ${schema} of ${server} are of version ${version}`
    printResult(`${tables}, but this role lacks the rights to use ${notGranted.join(', ')}: migrate with --grant-to.\n`)
  } else {
    const now = version === 0 ? 'There are no tables' : `The tables are of version ${version}`
    const role = mayMigrate ? 'this role may migrate them' : 'this role may not migrate them'
    printResult(`${now} in schema ${schema} of ${server}, and version ${needed} is needed; ${role}.\n`)
  }
  return isDue ? exitCodes.migrationDue : exitCodes.ok
}

function describe({ schema, from, to }: MigrationReport): string {
  if (from === to) return `The tables in schema ${schema} are up to date (version ${to}).`
  return `The tables in schema ${schema} are migrated from version ${from} to ${to}.`
}
