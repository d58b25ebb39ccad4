/** `latchkey config show`: shows every setting, its value and its source. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Config } from '@latchkey/kmd'
import { command, jsonOption, readNumber } from '../../Command.js'
import { dataDirectory } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { variableNames } from '../../helpTopics.js'
import { printJson, printResult, printWarning } from '../../messages.js'
import { kmdOptions } from '../kmd/options.js'

type Origin = 'default' | 'file' | 'environment' | 'option'

type Setting = {
  readonly name: string
  /** Masked if it is a secret; null if it is not set. */
  readonly value: unknown
  readonly origin: Origin
  /** The file, variable or option. */
  readonly source?: string | undefined
  /** Whether a running daemon applies it on SIGHUP. */
  readonly isLive?: boolean | undefined
}

export const configShowCommand = command({
  description: `Show the settings that latchkey kmd would use with the same options, and the environment variables of the other commands, each with \
its source: an option, the environment, kmd_config.json or the default. Secrets are masked.`,
  options: { ...kmdOptions, ...jsonOption },
  notes: 'A running daemon uses the settings from its start; for settings marked live, those from its last SIGHUP.',
  examples: ['latchkey config show', 'latchkey config show -d /var/lib/kmd-v0.5 --json'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    readNumber('--timeout', options.timeout, 0, 2_147_483)
    const file = join(dataDir, 'kmd_config.json')
    const text = readText(file)
    const { config, given } = parse(file, text)
    const warnings = text === undefined ? [] : Config.unknownSettings(text)
    const daemon = [...commandSettings(options, dataDir), ...fileSettings({ options, config, given, file })]
    const environment = variables(process.env)
    if (options.json) printJson({ file, exists: text !== undefined, daemon, environment, warnings })
    else printResult(block(file, text !== undefined, daemon, environment))
    for (const warning of warnings) printWarning(warning)
    return exitCodes.ok
  },
})

type Options = { readonly [name in keyof typeof kmdOptions]?: string | undefined }

/** Undefined if there is no file, in which case the daemon uses its defaults. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    const message = `the settings cannot be read: ${(cause as Error).message}`
    throw new CommandError('file_unreadable', message, { cause })
  }
}

function parse(file: string, text: string | undefined): { config: Config.Config; given: ReadonlySet<string> } {
  if (text === undefined) return { config: Config.defaults, given: new Set() }
  try {
    return { config: Config.parse(text), given: Config.givenSettings(text) }
  } catch (cause) {
    throw new CommandError('invalid_file', `${file} is not valid: ${(cause as Error).message}`, {
      hint: 'correct the file; the daemon cannot start with it, and a running daemon keeps its current settings',
      cause,
    })
  }
}

/** The settings that are not in the file. */
function commandSettings(options: Options, dataDir: string): Setting[] {
  const directory = { name: 'data_dir', value: dataDir }
  const variable = process.env['KMD_DATA_DIR'] ?? ''
  const timeout = { name: 'timeout', value: Number(options.timeout ?? 0) }
  return [
    options['data-dir'] !== undefined
      ? { ...directory, origin: 'option', source: '--data-dir' }
      : variable !== ''
        ? { ...directory, origin: 'environment', source: 'KMD_DATA_DIR' }
        : { ...directory, origin: 'default' },
    options.timeout === undefined
      ? { ...timeout, origin: 'default' }
      : { ...timeout, origin: 'option', source: '--timeout' },
  ]
}

type FileSettings = {
  readonly options: Options
  readonly config: Config.Config
  readonly given: ReadonlySet<string>
  readonly file: string
}

function fileSettings({ options, config, given, file }: FileSettings): Setting[] {
  const byOption: { readonly [setting in keyof Config.Config]?: readonly [option: string, value: string | undefined] } =
    {
      wire: ['--wire', options.wire],
      unixSocket: ['--unix-socket', options['unix-socket']],
      logFormat: ['--log-format', options['log-format']],
      logLevel: ['--log-level', options['log-level']],
    }
  const settings = (Object.keys(Config.settingNames) as (keyof Config.Config)[]).filter((one) => !nodeNames.has(one))
  const plain = settings.map((setting): Setting => {
    const { name, isLive } = Config.settingNames[setting]
    const [source, value] = byOption[setting] ?? []
    if (value !== undefined) return { name, value, origin: 'option', source }
    const origin: Origin = given.has(name) ? 'file' : 'default'
    return {
      name,
      value: config[setting] ?? defaults[setting] ?? null,
      origin,
      isLive,
      ...(origin === 'file' && { source: file }),
    }
  })
  return [...plain, ...nodeSettings({ options, config, given, file }), witnessSetting(config, file)]
}

function witnessSetting({ algodWitnesses }: Config.Config, file: string): Setting {
  const { name, isLive } = Config.settingNames.algodWitnesses
  if (algodWitnesses.length === 0) return { name, value: null, origin: 'default', isLive }
  return { name, value: algodWitnesses.map(({ url }) => maskUrl(url)), origin: 'file', source: file, isLive }
}

/** The tokens of these settings are not shown. */
const nodeNames: ReadonlySet<keyof Config.Config> = new Set(['algod', 'algodWitnesses'])

/** The defaults of `latchkey kmd`. The command kmd uses the reference wire and text. */
const defaults: { readonly [setting in keyof Config.Config]?: string } = {
  wire: 'documented',
  logFormat: 'json',
  logLevel: 'info',
}

/** The token of a node that is given by an option comes from the environment. */
function nodeSettings({ options, config, file }: FileSettings): Setting[] {
  const token = process.env['ALGOD_TOKEN'] ?? ''
  if (options.node !== undefined) {
    const secret: Setting = { name: 'algod.token', value: masked(token), origin: 'environment', source: 'ALGOD_TOKEN' }
    const none: Setting = { name: 'algod.token', value: null, origin: 'default' }
    const url: Setting = { name: 'algod.url', value: maskUrl(options.node), origin: 'option', source: '--node' }
    return [url, token === '' ? none : secret]
  }
  const { algod } = config
  const from = (value: string | null | undefined, name: string): Setting =>
    algod === undefined || !value
      ? { name, value: null, origin: 'default', isLive: true }
      : { name, value, origin: 'file', source: file, isLive: true }
  return [from(algod && maskUrl(algod.url), 'algod.url'), from(algod && masked(algod.token ?? ''), 'algod.token')]
}

const secretVariables = /TOKEN|PASSWORD$|MNEMONIC|PRIVATE_KEY|API_KEYS/

/** Returns the variables that are set. */
function variables(environment: NodeJS.ProcessEnv): Setting[] {
  return variableNames.flatMap((name): Setting[] => {
    const text = environment[name] ?? ''
    if (text === '') return []
    const value = secretVariables.test(name) ? masked(text) : name.endsWith('URL') ? maskUrl(text) : text
    return [{ name, value, origin: 'environment', source: name }]
  })
}

/** Hides even the length of a secret. */
function masked(secret: string): string | null {
  return secret === '' ? null : '********'
}

/** A URL can contain a name and a password, and keys in its path or query. */
function maskUrl(text: string): string {
  if (!URL.canParse(text)) return '********'
  const { protocol, host, pathname, search, username, password } = new URL(text)
  const user = username === '' && password === '' ? '' : '********@'
  const rest = pathname === '/' && search === '' ? '' : '/********'
  return `${protocol}//${user}${host}${rest}`
}

function block(file: string, exists: boolean, daemon: readonly Setting[], environment: readonly Setting[]): string {
  const row = ({ name, value, origin, source, isLive }: Setting): string[] => [
    `  ${name}`,
    shown(value),
    source === undefined ? origin : origin === 'file' ? 'kmd_config.json' : `${origin} ${source}`,
    isLive === true ? 'live' : '',
  ]
  const rest = environment.length === 0 ? '' : `\nEnvironment:\n${columns(environment.map(row))}`
  return `Key daemon (${file}${exists ? '' : ', which does not exist'}):\n${columns(daemon.map(row))}${rest}`
}

function shown(value: unknown): string {
  if (value === null || value === '') return '(none)'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
