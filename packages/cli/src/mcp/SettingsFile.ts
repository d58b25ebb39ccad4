/** The settings of a client, which belong to another program: adds one member and keeps everything else unchanged. */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  constants,
  copyFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Json } from '@latchkey/algorand'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { CommandError } from '../errors.js'
import { quoted } from '../format.js'

const maxBytes = 4 * 1024 * 1024

export type Addition = {
  readonly path: string
  /** The member that contains the servers by name. */
  readonly member: string
  readonly name: string
  readonly entry: { readonly [name: string]: unknown }
  /** Whether another entry of the same name is replaced. */
  readonly mayReplace: boolean
}

export type Written = {
  /** False if the entry already exists. */
  readonly isChanged: boolean
  /** A copy of the previous file, or undefined if there was none. */
  readonly backup: string | undefined
}

/**
 * Adds a server to the settings.
 *
 * @throws CommandError if the file is not JSON, has another entry of the name, or cannot be written; it is then
 * unchanged
 */
export function addServer({ path: given, member, name, entry, mayReplace }: Addition): Written {
  const path = targetOf(given)
  const text = readText(path)
  const settings = text === undefined || text.trim() === '' ? {} : parse(path, text)
  const servers = settings[member] ?? {}
  if (!Json.isObject(servers)) throw invalid(path, `its member ${quoted(member)} is not an object`)
  const before = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (isDeepStrictEqual(before, entry)) return { isChanged: false, backup: undefined }
  if (before !== undefined && !mayReplace) {
    throw new CommandError('file_exists', `${quoted(path)} already has a different server named ${quoted(name)}`, {
      hint: 'give --replace to replace it, or another name with --name',
    })
  }
  const changed = { ...settings, [member]: { ...servers, [name]: entry } }
  const indent = /^\{\r?\n([ \t]+)/.exec(text ?? '')?.[1] ?? '  '
  try {
    return { isChanged: true, backup: replace(path, `${JSON.stringify(changed, undefined, indent)}\n`, text) }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError('file_unwritable', `${quoted(path)} cannot be written: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

export type TableAddition = {
  readonly path: string
  /** The header of the table: `[mcp_servers.latchkey]`. */
  readonly header: string
  /** The table with its header. */
  readonly table: string
}

/**
 * Appends a table to settings in TOML. A file that has the table already is never changed, because replacing a table
 * would need the whole grammar.
 *
 * @throws CommandError if the file has another table of the name, or cannot be written; it is then unchanged
 */
export function addTable({ path: given, header, table }: TableAddition): Written {
  const path = targetOf(given)
  const text = readText(path)
  const before = text ?? ''
  const name = header.slice(1, -1)
  const lines = before.split(/\r?\n/).map((line) => line.trim().replaceAll(/[\s"']/g, ''))
  if (lines.some((line) => line.startsWith(`[${name}]`) || line.startsWith(`[${name}.`))) {
    if (`\n${before}\n`.includes(`\n${table}`)) return { isChanged: false, backup: undefined }
    throw new CommandError('file_exists', `${quoted(path)} already has a different table ${header}`, {
      hint: 'remove the table, or give another name with --name',
    })
  }
  const gap = before === '' || before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n'
  try {
    return { isChanged: true, backup: replace(path, `${before}${gap}${table}`, text) }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError('file_unwritable', `${quoted(path)} cannot be written: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Keeps a symbolic link. */
function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function readText(path: string): string | undefined {
  try {
    if (statSync(path).size > maxBytes) throw new Error('the file is too large')
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CommandError('file_unreadable', `${quoted(path)} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function parse(path: string, text: string): Json.Members {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid(path, 'the file is not valid JSON; rewriting it would lose its comments')
  }
  if (Json.isObject(value)) return value
  throw invalid(path, 'the file is not a JSON object')
}

/** Written to a temporary file in the same directory, synced and renamed, with the previous mode. */
function replace(path: string, content: string, before: string | undefined): string | undefined {
  const suffix = `${Date.now()}-${randomBytes(3).toString('hex')}`
  const [part, backup] = [`${path}.${suffix}.part`, `${path}.${suffix}.backup`]
  mkdirSync(dirname(path), { recursive: true })
  if (before !== undefined) copyFileSync(path, backup, constants.COPYFILE_EXCL)
  try {
    AtomicFile.createSync(part, content)
    if (before !== undefined) chmodSync(part, statSync(path).mode & 0o777)
    // The client may have written its settings in the meantime.
    if (readText(path) !== before) throw new Error('another program changed it at the same time')
    renameSync(part, path)
  } catch (error) {
    rmSync(part, { force: true })
    if (before !== undefined) rmSync(backup, { force: true })
    throw error
  }
  return before === undefined ? undefined : backup
}

function invalid(path: string, why: string): CommandError {
  return new CommandError('invalid_file', `${quoted(path)} was not changed: ${why}`, {
    hint: 'to add the settings by hand, run the command without --write',
  })
}
