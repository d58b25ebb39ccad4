/** The location of a facilitator's settlements: an SQLite file, or a PostgreSQL database. */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Option } from '../Command.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'

type Environment = { readonly [name: string]: string | undefined }

export const storeOptions = {
  store: {
    type: 'string',
    placeholder: 'STORE',
    completes: 'file',
    description:
      'settlement database: a file (~/.latchkey/facilitator.db), or postgres://USER@HOST/DATABASE, which replicas share',
  },
  'store-file': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'read the database address, which may contain a password, from the first line of this file',
  },
} as const satisfies { [name: string]: Option }

export const storeVariable = 'LATCHKEY_FACILITATOR_STORE'

export const storeNotes = `The database address can also be in ${storeVariable}. Put its password there, in the file of --store-file, or in \
PGPASSWORD or ~/.pgpass; the other PG* variables apply too.`

export type StoreAddress =
  /** The directory of the default file is created with it. */
  | { readonly type: 'sqlite'; readonly path: string; readonly isDefault?: boolean }
  | { readonly type: 'postgres'; readonly address: string }

type Values = { readonly store?: string | undefined; readonly 'store-file'?: string | undefined }

/** Longer content is not an address. */
const maxFileBytes = 16 * 1024

/** @throws UsageError for a password in the arguments, which every user of the machine can read */
export function storeFrom(given: Values, environment: Environment): StoreAddress {
  const { store, 'store-file': file } = given
  if (store !== undefined && file !== undefined) throw new UsageError('give only one of --store and --store-file')
  if (store !== undefined) {
    const found = parse(store)
    if (found.type === 'postgres' && hasPassword(found.address)) {
      throw new UsageError(
        '--store contains a password, which every user of this machine can read in the process list',
        {
          hint: `put the address into a file (--store-file) or into ${storeVariable}, or the password into PGPASSWORD`,
        },
      )
    }
    return found
  }
  if (file !== undefined) return parse(readFirstLine(file))
  const fromEnvironment = environment[storeVariable] ?? ''
  return fromEnvironment === '' ? defaultStore() : parse(fromEnvironment)
}

function parse(text: string): StoreAddress {
  if (isPostgres(text)) return { type: 'postgres', address: text }
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? []
  if (scheme === undefined) return { type: 'sqlite', path: text }
  // Omits the rest of the address, which may contain a password.
  throw new UsageError(`databases of type ${quoted(scheme)} are not supported`, {
    code: 'invalid_value',
    hint: 'give a file, or an address that begins with postgres://',
  })
}

export function isPostgres(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text)
}

/** Whether the address of a database contains a password, before the host or in the parameters. */
export function hasPassword(address: string): boolean {
  const [, authority = '', rest = ''] = /^[^:]+:\/\/([^/?#]*)(.*)$/s.exec(address) ?? []
  const user = authority.slice(0, Math.max(authority.lastIndexOf('@'), 0))
  return user.includes(':') || /[?&]password=/i.test(rest)
}

function readFirstLine(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandError(
      'file_unreadable',
      `the file with the database address cannot be read: ${(cause as Error).message}`,
      {
        cause,
      },
    )
  }
  const line = text.slice(0, maxFileBytes).split('\n', 1)[0]!.trim()
  if (line === '' || text.length > maxFileBytes) throw new UsageError(`${path} contains no database address`)
  return line
}

function defaultStore(): StoreAddress {
  return { type: 'sqlite', path: join(homedir(), '.latchkey', 'facilitator.db'), isDefault: true }
}
