/** Checks blocks that are files for other programs, in the way the program reads them, if it is available. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Daemon } from '@latchkey/kmd'
import { type Scope, temporaryDirectory } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import type { Block } from './Blocks.test.helper.js'

/** The settings of the Go daemon, and ours. */
const settingNames = new Set([
  ...['drivers', 'sqlite', 'wallets_dir', 'allow_unsafe_scrypt', 'scrypt', 'scrypt_n', 'scrypt_r', 'scrypt_p'],
  ...['ledger', 'disable', 'session_lifetime_secs', 'address', 'allowed_origins', 'allow_header_pna'],
  ...['session_max_lifetime_secs', 'wire', 'allowed_hosts', 'algod', 'url', 'token', 'audit'],
  'approval_webhook',
])

/** Checks that the daemon knows all settings, because it ignores unknown ones, and that it starts with them. */
export async function checkJson(scope: Scope, { about, text }: Block): Promise<void> {
  const value: unknown = JSON.parse(text)
  if (about === '') return
  assert.equal(about, 'kmd_config.json', `no rule covers the file ${about}`)
  for (const name of namesIn(value)) assert.ok(settingNames.has(name), `there is no setting ${name}`)
  const dataDir = join(temporaryDirectory(scope), 'kmd-v0.5')
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ ...(value as object), address: '127.0.0.1:0' }))
  const daemon = await Daemon.start({ dataDir, wire: 'documented' })
  await daemon.stop()
}

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)])
}

/** Checks the settings file that the facilitator's unit names. */
export function checkEnvironment({ about, text }: Block): void {
  const unit = readFileSync(join(root, 'deploy', 'latchkey-facilitator.service'), 'utf8')
  assert.ok(unit.includes(`EnvironmentFile=${about}\n`), `no unit reads ${about}`)
  const lines = text.split('\n').filter((line) => line !== '')
  for (const line of lines) {
    const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? assert.fail(`not like NAME=VALUE: ${line}`)
    if (name === 'FACILITATOR_OPTIONS') checkFlags('facilitator', value!)
    else checkVariable(name!)
  }
}

/** Checks that a proxy points at the server's default address. */
export function checkProxy({ text }: Block): void {
  const [, port] = /proxy_pass http:\/\/127\.0\.0\.1:([0-9]+);/.exec(text) ?? assert.fail('it passes nothing on')
  assert.ok(helpOf('facilitator').includes(`(${port})`), `no facilitator listens on ${port}`)
  assert.equal(text.split('{').length, text.split('}').length)
}

/** Checks commands that are not run for misspellings. */
export function checkNotRun(command: string): void {
  const [, script] = /^npm (?!install)(?:run )?([\w:]+)/.exec(command) ?? []
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  if (script !== undefined) assert.ok(script in scripts, `package.json has no script ${script}`)
  for (const [path] of command.matchAll(/\bdeploy\/[\w./@-]+/g)) {
    assert.ok(existsSync(join(root, path)), `${path} is missing`)
  }
  const [, name, rest] =
    /\blatchkey (kmd|facilitator(?: migrate)?|devnet|gateway|pay|opt-in|balance) (.*)$/s.exec(command) ?? []
  if (name !== undefined) checkFlags(name, rest!)
}

/** Checks that every option in the text belongs to the command. */
export function checkFlags(command: string, text: string): void {
  const help = helpOf(command)
  for (const [flag] of text.matchAll(/(?<=^|\s)--?[a-z][a-z-]*/g)) {
    assert.match(help, new RegExp(`(^|[ ,])${flag}[ ,\n]`, 'm'), `latchkey ${command} has no option ${flag}`)
  }
}

export function checkVariable(name: string): void {
  assert.match(helpOf('help environment'), new RegExp(`^  ${name} `, 'm'), `no command reads ${name}`)
}

const helps = new Map<string, string>()

function helpOf(command: string): string {
  const words = command.startsWith('help ') ? command.split(' ') : [...command.split(' '), '--help']
  const help = helps.get(command) ?? execFileSync(process.execPath, [latchkeyCommand, ...words], { encoding: 'utf8' })
  helps.set(command, help)
  return help
}
