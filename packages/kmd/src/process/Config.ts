/**
 * Reads kmd_config.json by the rules of the Go daemon: names in any case, unknown names ignored, null for the default,
 * wrong types rejected. `session_max_lifetime_secs`, `wire`, `allowed_hosts`, `algod`, `algod_witnesses`, `log_level`,
 * `log_format`, `audit`, `approval_webhook` and `unix_socket` with its settings are additions, which the Go daemon
 * ignores.
 */
import { isAbsolute, join } from 'node:path'
import { Json, Suggestion } from '@latchkey/algorand'
import { type Wire, wires } from '@latchkey/kmd-api'
import { type Format, formats, type Level, levels } from '@latchkey/system/log'
import { isPrivate } from '../agents/approvals/Webhook.js'
import { type AuditMode, auditModes } from '../audit/AuditChain.js'
import { StartError } from '../errors.js'

/** An Algorand node. */
export type NodeSetting = { url: string; token?: string | undefined }

/** The settings of kmd_config.json. */
export type Config = {
  /** An absolute path, or blank for `sqlite_wallets` in the data directory. */
  walletsDir: string
  /** Allows scrypt parameters below the Go daemon's minimum. */
  allowUnsafeScrypt: boolean
  /** The scrypt cost for new passwords. */
  scrypt: { n: number; r: number; p: number }
  /** Accepted for compatibility; there is no Ledger driver. */
  disableLedger: boolean
  /** The lifetime of a wallet handle. */
  sessionLifetimeSecs: number
  /** The maximum lifetime of a wallet handle from its opening, including renewals; 0 for no limit. */
  sessionMaxLifetimeSecs: number
  /** `host:port`; blank for port 7833 on the loopback interface, or another port if that is in use. */
  address: string
  /** Origins of web pages that may use the API. */
  allowedOrigins: readonly string[]
  /** Allows Private Network Access preflights. */
  allowHeaderPna: boolean
  /** The form of responses; undefined for the command's default. */
  wire: Wire | undefined
  /** `Host` names served in addition to those of this machine. */
  allowedHosts: readonly string[]
  /** The Algorand node for balances and confirmations. */
  algod: NodeSetting | undefined
  /**
   * Additional nodes. All of them and `algod` must agree before an agent's payment counts as one that never reached the
   * ledger.
   */
  algodWitnesses: readonly NodeSetting[]
  /** The absolute path of a Unix socket to listen on in addition to the port; blank for none. */
  unixSocket: string
  /** A group, by name or number, whose members may connect to the socket; blank for the daemon's user only. */
  unixSocketGroup: string
  /** The ids of the users that may use the socket, checked for each connection; undefined for all that can connect. */
  unixSocketUids: readonly number[] | undefined
  /** The URL that is notified about approvals; blank for none. */
  approvalWebhook: string
  /** The minimum level of kmd.log; undefined for the command's default. */
  logLevel: Level | undefined
  /** The format of kmd.log; undefined for the command's default. */
  logFormat: Format | undefined
  /**
   * Which signatures the audit log records: those of agents, or the owner's as well. All other events are always
   * recorded.
   */
  audit: AuditMode
}

/** The settings of an empty kmd_config.json. */
export const defaults: Config = {
  walletsDir: '',
  allowUnsafeScrypt: false,
  scrypt: { n: 65536, r: 1, p: 32 },
  disableLedger: false,
  sessionLifetimeSecs: 60,
  sessionMaxLifetimeSecs: 0,
  address: '',
  allowedOrigins: [],
  allowHeaderPna: false,
  wire: undefined,
  allowedHosts: [],
  algod: undefined,
  algodWitnesses: [],
  unixSocket: '',
  unixSocketGroup: '',
  unixSocketUids: undefined,
  approvalWebhook: '',
  logLevel: undefined,
  logFormat: undefined,
  audit: 'agents',
}

/** The name of each setting in the file, and whether a running daemon applies changes on SIGHUP. */
export const settingNames: { readonly [setting in keyof Config]: { readonly name: string; readonly isLive: boolean } } =
  {
    walletsDir: { name: 'drivers.sqlite.wallets_dir', isLive: false },
    allowUnsafeScrypt: { name: 'drivers.sqlite.allow_unsafe_scrypt', isLive: false },
    scrypt: { name: 'drivers.sqlite.scrypt', isLive: false },
    disableLedger: { name: 'drivers.ledger.disable', isLive: false },
    sessionLifetimeSecs: { name: 'session_lifetime_secs', isLive: true },
    sessionMaxLifetimeSecs: { name: 'session_max_lifetime_secs', isLive: true },
    address: { name: 'address', isLive: false },
    allowedOrigins: { name: 'allowed_origins', isLive: true },
    allowHeaderPna: { name: 'allow_header_pna', isLive: true },
    wire: { name: 'wire', isLive: false },
    allowedHosts: { name: 'allowed_hosts', isLive: true },
    algod: { name: 'algod', isLive: true },
    algodWitnesses: { name: 'algod_witnesses', isLive: true },
    unixSocket: { name: 'unix_socket', isLive: false },
    unixSocketGroup: { name: 'unix_socket_group', isLive: false },
    unixSocketUids: { name: 'unix_socket_uids', isLive: false },
    approvalWebhook: { name: 'approval_webhook', isLive: false },
    logLevel: { name: 'log_level', isLive: true },
    logFormat: { name: 'log_format', isLive: true },
    audit: { name: 'audit', isLive: true },
  }

/** Returns the content of kmd_config.json.example: every setting of the Go daemon, in its order. */
export function example(): string {
  const settings = {
    drivers: {
      sqlite: {
        wallets_dir: '',
        allow_unsafe_scrypt: false,
        scrypt: { scrypt_n: defaults.scrypt.n, scrypt_r: defaults.scrypt.r, scrypt_p: defaults.scrypt.p },
      },
      ledger: { disable: false },
    },
    session_lifetime_secs: defaults.sessionLifetimeSecs,
    address: '',
    allowed_origins: null,
    allow_header_pna: false,
  }
  return `${JSON.stringify(settings, null, '\t')}\n`
}

/**
 * Parses the text of kmd_config.json.
 *
 * @throws {@link StartError} `invalid_config` if it is not JSON or a setting has the wrong type.
 */
export function parse(text: string): Config {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw invalid(`kmd_config.json is not JSON: ${withoutQuote((error as Error).message)}`)
  }
  const root = new Section(json, '')
  const drivers = root.section('drivers')
  const sqlite = drivers.section('sqlite')
  const scrypt = sqlite.section('scrypt')
  return {
    walletsDir: sqlite.text('wallets_dir') ?? defaults.walletsDir,
    allowUnsafeScrypt: sqlite.bool('allow_unsafe_scrypt') ?? defaults.allowUnsafeScrypt,
    scrypt: {
      n: scrypt.integer('scrypt_n') ?? defaults.scrypt.n,
      r: scrypt.integer('scrypt_r') ?? defaults.scrypt.r,
      p: scrypt.integer('scrypt_p') ?? defaults.scrypt.p,
    },
    disableLedger: drivers.section('ledger').bool('disable') ?? defaults.disableLedger,
    sessionLifetimeSecs: root.unsigned('session_lifetime_secs') ?? defaults.sessionLifetimeSecs,
    sessionMaxLifetimeSecs: root.unsigned('session_max_lifetime_secs') ?? defaults.sessionMaxLifetimeSecs,
    address: root.text('address') ?? defaults.address,
    allowedOrigins: root.texts('allowed_origins') ?? defaults.allowedOrigins,
    allowHeaderPna: root.bool('allow_header_pna') ?? defaults.allowHeaderPna,
    wire: oneOf(wires, 'wire', root.text('wire')),
    allowedHosts: root.texts('allowed_hosts') ?? defaults.allowedHosts,
    algod: readAlgod(root.section('algod')),
    algodWitnesses: readWitnesses(root.sections('algod_witnesses')),
    unixSocket: root.text('unix_socket') ?? defaults.unixSocket,
    unixSocketGroup: root.text('unix_socket_group') ?? defaults.unixSocketGroup,
    unixSocketUids: root.unsignedList('unix_socket_uids') ?? defaults.unixSocketUids,
    approvalWebhook: root.text('approval_webhook') ?? defaults.approvalWebhook,
    logLevel: oneOf(levels, 'log_level', root.text('log_level')),
    logFormat: oneOf(formats, 'log_format', root.text('log_format')),
    audit: oneOf(auditModes, 'audit', root.text('audit')) ?? defaults.audit,
  }
}

/** Removes the part of the file that V8 quotes: it may be the node's token, and the message is logged. */
function withoutQuote(message: string): string {
  const [problem = ''] = message.split(/,? (?:\.\.\.)?"/, 1)
  return problem === '' || message.startsWith('"') ? 'it contains text where a value is expected' : problem
}

/** The names of settings, by section. */
const settings: { readonly [section: string]: readonly string[] } = {
  '': [
    'drivers',
    'session_lifetime_secs',
    'session_max_lifetime_secs',
    'address',
    'allowed_origins',
    'allow_header_pna',
    'wire',
    'allowed_hosts',
    'algod',
    'algod_witnesses',
    'unix_socket',
    'unix_socket_group',
    'unix_socket_uids',
    'approval_webhook',
    'log_level',
    'log_format',
    'audit',
  ],
  drivers: ['sqlite', 'ledger'],
  'drivers.sqlite': ['wallets_dir', 'allow_unsafe_scrypt', 'scrypt'],
  'drivers.sqlite.scrypt': ['scrypt_n', 'scrypt_r', 'scrypt_p'],
  'drivers.ledger': ['disable'],
  algod: ['url', 'token'],
}

/**
 * Returns the names of the settings that a file sets, out of {@link settingNames}.
 *
 * @throws SyntaxError if the text is not JSON.
 */
export function givenSettings(text: string): Set<string> {
  return new Set(Object.values(settingNames).flatMap(({ name }) => (isGiven(JSON.parse(text), name) ? [name] : [])))
}

function isGiven(json: unknown, path: string): boolean {
  const [first, ...rest] = path.split('.')
  const [, value] =
    (Json.isObject(json) ? Object.entries(json) : []).find(([name]) => name.toLowerCase() === first) ?? []
  return rest.length === 0 ? value !== undefined && value !== null : isGiven(value, rest.join('.'))
}

/** Returns a warning for each unknown name. Unknown names are ignored, as by the Go daemon, but may be misspelled. */
export function unknownSettings(text: string): string[] {
  return findUnknown(JSON.parse(text), '')
}

function findUnknown(json: unknown, section: string): string[] {
  const known = settings[section]
  if (known === undefined || !Json.isObject(json)) return []
  return Object.entries(json).flatMap(([written, value]) => {
    const name = written.toLowerCase()
    const path = section === '' ? name : `${section}.${name}`
    if (known.includes(name)) return findUnknown(value, path)
    const suggestion = Suggestion.didYouMean(name, known)
    return [`${path} in kmd_config.json is not a setting and is ignored${suggestion ? `; ${suggestion}` : ''}`]
  })
}

/**
 * Runs the checks of the Go daemon (the minimum cost of scrypt, an absolute `wallets_dir`) and Latchkey's own.
 *
 * @throws {@link StartError} `invalid_config`.
 */
export function validate(config: Config): void {
  const { n, r, p } = config.scrypt
  if (!config.allowUnsafeScrypt) {
    if (n < 32768) throw invalid('slow scrypt N must be at least 32768')
    if (r < 1) throw invalid('slow scrypt R must be at least 1')
    if (p < 32) throw invalid('slow scrypt P must be at least 32')
  }
  if (config.walletsDir !== '' && !isAbsolute(config.walletsDir)) {
    throw invalid('sqlite wallets path must be absolute path')
  }
  if (config.algodWitnesses.length > maxWitnesses) {
    throw invalid(`algod_witnesses has too many nodes, must be <= ${maxWitnesses}`)
  }
  if (config.approvalWebhook !== '' && !isPrivate(config.approvalWebhook)) {
    throw invalid('approval_webhook must be an https URL, or an http URL of this machine')
  }
}

/** Returns the directory of the wallet files. */
export function walletsDirectory(config: Config, dataDir: string): string {
  return config.walletsDir === '' ? join(dataDir, 'sqlite_wallets') : config.walletsDir
}

function oneOf<T extends string>(choices: readonly T[], name: string, value: string | undefined): T | undefined {
  if (value === undefined || value === '') return undefined
  const found = choices.find((known) => known === value)
  if (found !== undefined) return found
  throw invalid(`${name} must be one of ${choices.join(', ')}`, Suggestion.didYouMean(value, choices))
}

function readAlgod(section: Section): { url: string; token: string } | undefined {
  const url = section.text('url') ?? ''
  const token = section.text('token') ?? ''
  return url === '' ? undefined : { url, token }
}

/** Each one is queried for every decision. */
const maxWitnesses = 8

/** Rejects a witness without a URL, because the owner relies on it. */
function readWitnesses(sections: readonly Section[]): readonly NodeSetting[] {
  return sections.map((section, index) => {
    const node = readAlgod(section)
    if (node === undefined) throw invalid(`algod_witnesses.${index}.url must be a URL`)
    return node
  })
}

/** An object of the file, whose member names are case-insensitive. */
class Section {
  readonly #members = new Map<string, unknown>()
  readonly #path: string

  constructor(json: unknown, path: string) {
    this.#path = path
    if (json === null || json === undefined) return
    if (typeof json !== 'object' || Array.isArray(json)) throw invalid(`${path || 'kmd_config.json'} must be an object`)
    for (const [name, value] of Object.entries(json)) this.#members.set(name.toLowerCase(), value)
  }

  section(name: string): Section {
    return new Section(this.#members.get(name), this.#path === '' ? name : `${this.#path}.${name}`)
  }

  sections(name: string): Section[] {
    const list = this.#value<unknown[]>(name, 'a list of objects', (value) => Array.isArray(value)) ?? []
    return list.map(
      (element, index) => new Section(element, `${this.#path === '' ? name : `${this.#path}.${name}`}.${index}`),
    )
  }

  text(name: string): string | undefined {
    return this.#value(name, 'a string', (value) => typeof value === 'string')
  }

  bool(name: string): boolean | undefined {
    return this.#value(name, 'true or false', (value) => typeof value === 'boolean')
  }

  integer(name: string): number | undefined {
    return this.#value(name, 'an integer', (value) => Number.isSafeInteger(value))
  }

  unsigned(name: string): number | undefined {
    return this.#value(
      name,
      'an integer of at least 0',
      (value) => Number.isSafeInteger(value) && (value as number) >= 0,
    )
  }

  texts(name: string): string[] | undefined {
    const isTexts = (value: unknown) => Array.isArray(value) && value.every((element) => typeof element === 'string')
    return this.#value(name, 'a list of strings', isTexts)
  }

  unsignedList(name: string): number[] | undefined {
    const isUnsigned = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
    const isList = (value: unknown) => Array.isArray(value) && value.every(isUnsigned)
    return this.#value(name, 'a list of integers of at least 0', isList)
  }

  #value<T>(name: string, what: string, isRight: (value: unknown) => boolean): T | undefined {
    const value = this.#members.get(name)
    if (value === undefined || value === null) return undefined
    if (!isRight(value)) throw invalid(`${this.#path === '' ? name : `${this.#path}.${name}`} must be ${what}`)
    return value as T
  }
}

function invalid(message: string, hint?: string): StartError {
  return new StartError('invalid_config', { message, ...(hint === undefined ? {} : { hint }) })
}
