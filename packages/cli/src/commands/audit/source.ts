/** The source of the audit log for commands: the daemon, or its file if no daemon is running. */
import { AuditFile } from '@latchkey/kmd'
import { type AuditPage, type AuditQuery, type AuditRecord, Kmd, KmdClientError } from '@latchkey/kmd-client'
import type { Option } from '../../Command.js'
import { readNumber } from '../../Command.js'
import { dataDirectory, explainDaemonError } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { quoted } from '../../format.js'

export type Source = { readonly search: (query: AuditQuery) => Promise<AuditPage> }

/** The filters of `search`, `tail` and `export`. */
export const filterOptions = {
  event: {
    type: 'string',
    multiple: true,
    placeholder: 'EVENT',
    description: 'only this event, such as key_exported; repeatable',
  },
  actor: {
    type: 'string',
    placeholder: 'WHO',
    description: 'only records of owner, console, daemon, agent, or the agent with this name or id',
  },
  wallet: { type: 'string', short: 'w', placeholder: 'NAME', description: 'only records about this wallet' },
  address: { type: 'string', placeholder: 'ADDRESS', description: 'only records about this address' },
  transaction: { type: 'string', placeholder: 'ID', description: 'only records about this transaction' },
  since: {
    type: 'string',
    placeholder: 'TIME',
    description: 'only records since 2026-05-31, 2026-05-31T12:00Z, or 90m, 24h, 7d ago',
  },
  until: { type: 'string', placeholder: 'TIME', description: 'only records before this time' },
} as const satisfies { [name: string]: Option }

export type FilterValues = {
  readonly [name in 'actor' | 'wallet' | 'address' | 'transaction' | 'since' | 'until']?: string | undefined
} & { readonly event?: string[] | undefined }

/** Calls `work` with the log. */
export async function withLog<T>(
  given: { readonly 'data-dir'?: string | undefined },
  work: (source: Source & { readonly walletId: (name: string) => Promise<string> }) => Promise<T>,
): Promise<T> {
  const dataDir = dataDirectory(given['data-dir'])
  let kmd: Kmd | undefined
  try {
    kmd = await Kmd.connect({ dataDir })
    const { audit, wallets } = kmd
    const walletId = async (name: string): Promise<string> =>
      (await wallets.list()).find((one) => one.name === name)?.id ?? name
    return await work({ search: (query) => audit.search(query), walletId })
  } catch (error) {
    const isStopped = error instanceof KmdClientError && error.code === 'daemon_not_running'
    if (!isStopped || !AuditFile.exists(dataDir)) throw explainDaemonError(error, dataDir)
  } finally {
    kmd?.close()
  }
  const file = openAuditFile(dataDir)
  try {
    return await work({ search: (query) => searchFile(file, query), walletId: async (id) => id })
  } finally {
    file.close()
  }
}

export function openAuditFile(dataDir: string): AuditFile {
  try {
    return AuditFile.open(dataDir)
  } catch (cause) {
    const reason = (cause as Error).message
    const isReadOnly = /readonly database|unable to open/.test(reason)
    throw new CommandError('file_unreadable', `the audit log in ${quoted(dataDir)} cannot be read: ${reason}`, {
      hint: isReadOnly
        ? 'SQLite creates files next to it: copy latchkey_state.db, its -wal file if there is one, and latchkey_audit.head to a directory that you can write'
        : 'run the command as the user that owns latchkey_state.db',
      cause,
    })
  }
}

async function searchFile(file: AuditFile, { count = 100, ...query }: AuditQuery): Promise<AuditPage> {
  const { records, continueFrom } = await file.search({ ...query, count })
  return {
    records: records.map((record) => ({ ...record, walletName: '', detail: record.detail ?? {} })),
    continueFrom,
    headNumber: 0,
    headHash: '',
  }
}

/** Converts the filter options to a query. */
export async function readFilters(
  given: FilterValues,
  walletId: (name: string) => Promise<string>,
): Promise<AuditQuery> {
  const { event, actor, wallet, address, transaction, since, until } = given
  return {
    events: event,
    actor,
    address,
    transaction,
    wallet: wallet === undefined ? undefined : await walletId(wallet),
    afterMs: readTime('--since', since),
    beforeMs: readTime('--until', until),
  }
}

const units: { readonly [letter: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, amount, unit] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? []
  const atMs = amount === undefined ? Date.parse(text) : Date.now() - Number(amount) * units[unit!]!
  if (Number.isSafeInteger(atMs) && atMs > 0) return atMs
  throw new UsageError(`${option} takes a time such as 2026-05-31, 2026-05-31T12:00Z or 24h`, { code: 'invalid_value' })
}

export function readCount(text: string | undefined, usual: number): number {
  return readNumber('--count', text, 1, 100_000) ?? usual
}

/** `hasMore`: whether older records match or may match. */
export type Collected = { readonly records: AuditRecord[]; readonly hasMore: boolean }

/** Collects records newest first, page by page, until there are enough. */
export async function collect(source: Source, query: AuditQuery, count: number): Promise<Collected> {
  const records: AuditRecord[] = []
  let beforeNumber: number | undefined
  do {
    const page = await source.search({ ...query, beforeNumber, count: Math.min(1_000, count - records.length) })
    records.push(...page.records)
    beforeNumber = isBefore(page.continueFrom, beforeNumber) ? page.continueFrom : undefined
  } while (beforeNumber !== undefined && records.length < count)
  return { records, hasMore: beforeNumber !== undefined }
}

/** Protects against a daemon whose pages never end. */
function isBefore(next: number | undefined, previous: number | undefined): boolean {
  return next !== undefined && (previous === undefined || next < previous)
}

/** Yields records oldest first, page by page. */
export async function* pages(source: Source, query: AuditQuery, afterNumber = 0): AsyncGenerator<AuditRecord[]> {
  let next: number | undefined = afterNumber
  while (next !== undefined) {
    const page: AuditPage = await source.search({ ...query, afterNumber: next, count: 1_000 })
    if (page.records.length > 0) yield page.records
    // Protects against a daemon whose pages never end.
    next = page.continueFrom !== undefined && page.continueFrom > next ? page.continueFrom : undefined
  }
}
