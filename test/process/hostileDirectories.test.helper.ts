/**
 * Creates directories whose names and files others chose, and lists the commands of operators and sellers that show
 * them.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { atEnd, type Scope } from './commands.test.helper.js'
import { hostile, hostileName, refusingServer } from './hostile.test.helper.js'

export type Run = {
  args: readonly string[]
  env?: { [name: string]: string }
  typed?: string
  /** For a long-running command: its output when it is ready, and what is done before it is stopped. */
  ready?: string
  meanwhile?: (screen: string) => Promise<unknown>
}

/** The runs of each command, by name. */
export type Table = { [command: string]: (name: string) => Promise<Run[]> }

const stopTimeoutMs = 60_000
let count = 0

export type HostileDirectories = {
  readonly hostileDirectory: () => string
  /** Every file of a data directory was written by others. */
  readonly fakeDirectory: () => Promise<string>
}

export function hostileDirectories(scope: Scope, directory: string): HostileDirectories {
  function hostileDirectory(): string {
    const path = join(directory, `of${count++}${hostileName.replaceAll('/', '')}`)
    mkdirSync(path, { mode: 0o700 })
    return path
  }

  async function fakeDirectory(): Promise<string> {
    const dataDir = join(hostileDirectory(), 'kmd-v0.5')
    mkdirSync(dataDir, { mode: 0o700 })
    const { host } = new URL(await refusingServer(scope, 401))
    writeFileSync(join(dataDir, 'kmd.net'), `${host}/${hostile}`)
    writeFileSync(join(dataDir, 'kmd.token'), hostile)
    writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: hostile, [hostile]: hostile }))
    return dataDir
  }

  return { hostileDirectory, fakeDirectory }
}

/** @param lyingDirectory the data directory of a daemon that lies */
export function operatingCommands(scope: Scope, directory: string, lyingDirectory: () => string): Table {
  const { hostileDirectory, fakeDirectory } = hostileDirectories(scope, directory)
  const file = (name: string): string => {
    const path = join(directory, name)
    writeFileSync(path, hostile, { mode: 0o600 })
    return path
  }

  /** Runs a daemon in the background, in a directory with a hostile name. The daemon is stopped in any case. */
  function background(): { dataDir: string; start: Run; stop: Run } {
    const dataDir = join(hostileDirectory(), 'kmd-v0.5')
    const stop = ['kmd', 'stop', '-d', dataDir]
    atEnd(scope, () => void spawnSync(process.execPath, [latchkeyCommand, ...stop], { timeout: stopTimeoutMs }))
    return { dataDir, start: { args: ['kmd', 'start', '-d', dataDir] }, stop: { args: stop } }
  }

  /** Simulates a service manager that refuses everything with long messages, and an existing file. */
  function services(existing?: string): { [name: string]: string } {
    const bin = join(directory, `bin${count++}`)
    mkdirSync(bin)
    writeFileSync(join(bin, 'says'), hostile)
    for (const name of ['systemctl', 'launchctl']) {
      writeFileSync(join(bin, name), `#!/bin/sh\ncat '${bin}/says'\ncat '${bin}/says' >&2\nexit 1\n`, { mode: 0o700 })
    }
    const config = hostileDirectory()
    if (existing !== undefined) {
      mkdirSync(join(config, 'systemd', 'user'), { recursive: true })
      writeFileSync(join(config, 'systemd', 'user', 'latchkey-kmd.service'), existing)
    }
    return { PATH: `${bin}:${process.env['PATH']}`, XDG_CONFIG_HOME: config }
  }

  return {
    'kmd start': async () => {
      const broken = await fakeDirectory()
      writeFileSync(join(broken, 'kmd_config.json'), `{"${hostile}": "${hostile}"`)
      const { dataDir, start, stop } = background()
      return [
        start,
        start,
        { args: ['kmd', 'start', '-d', broken] },
        { args: [...start.args, '--node', hostile] },
        stop,
      ]
        .concat({ args: ['kmd', 'start', '-d', dataDir, '--json'] })
        .concat(stop)
    },
    'kmd stop': async () => {
      const { start, stop } = background()
      const killed = await fakeDirectory()
      writeFileSync(join(killed, 'kmd.pid'), hostile)
      return [start, { args: [...stop.args, '--json'] }, start, stop, stop, { args: ['kmd', 'stop', '-d', killed] }]
    },
    'kmd status': async () => {
      const { dataDir, start, stop } = background()
      const directories = [dataDir, await fakeDirectory(), lyingDirectory(), `/nonexistent/${hostile}`]
      const asked = directories.flatMap((one) =>
        [[], ['--json']].map((more) => ({ args: ['kmd', 'status', '-d', one, ...more] })),
      )
      return [start, ...asked, stop]
    },
    'service install': async () => {
      const base = ['service', 'install', '-d', join(directory, `service${count++}`, 'kmd-v0.5')]
      return [
        { args: ['service', 'install', '-d', hostileDirectory(), '--dry-run'] },
        { args: [...base, '--dry-run'] },
        { args: [...base, '--dry-run', '--json', '--node', hostile] },
        ...[[], ['--json'], ['--no-start']].map((more) => ({ args: [...base, ...more], env: services() })),
        { args: base, env: services(`${hostile}\n`) },
      ]
    },
    'service uninstall': async () => {
      const env = services()
      const install = { args: ['service', 'install', '--no-start'], env }
      const remove = { args: ['service', 'uninstall'], env }
      return [install, remove, remove, install, { args: [...remove.args, '--json'], env }].concat({
        ...{ args: remove.args, env: services(`${hostile}\n`) },
      })
    },
    'service status': async () => {
      const env = services()
      const status = { args: ['service', 'status'], env }
      const json = { args: [...status.args, '--json'], env }
      return [status, { args: ['service', 'install', '--no-start'], env }, status, json].concat({
        ...{ args: status.args, env: services(`${hostile}\n`) },
      })
    },
    sales: async () => {
      const claims = join(hostileDirectory(), 'claims.db')
      recordHostileSales(claims)
      const others = [file('sales.db'), `/nonexistent/${hostile}`]
      return [
        ...[[], ['--json'], ['--csv', 'payments'], ['--csv', 'revenue'], ['--csv', hostile], ['--days', hostile]].map(
          (more) => ({ args: ['sales', claims, ...more] }),
        ),
        ...others.map((path) => ({ args: ['sales', path] })),
      ]
    },
    'token metrics': async () => {
      const dataDir = await fakeDirectory()
      const base = ['token', 'metrics', '-d', dataDir]
      const out = join(hostileDirectory(), 'metrics.token')
      return [
        ...[[], ['--json'], ['--out', out], ['--out', out], ['--out', `${out}2`, '--json'], ['--delete']].map(
          (more) => ({
            args: [...base, ...more],
          }),
        ),
        { args: ['token', 'metrics', '-d', `/nonexistent/${hostile}`] },
        { args: ['token', 'metrics', '-d', hostileDirectory()] },
      ]
    },
    'config show': async () => {
      const broken = await fakeDirectory()
      writeFileSync(join(broken, 'kmd_config.json'), `{"${hostile}": "${hostile}"`)
      const env = { KMD_WALLET: hostile, AVM_NETWORK: hostile, ALGOD_URL: hostile, FACILITATOR_URL: hostile }
      const directories = [await fakeDirectory(), join(hostileDirectory(), 'kmd-v0.5'), broken]
      return directories.flatMap((dataDir) =>
        [[], ['--json'], ['--node', hostile]].map((more) => ({
          args: ['config', 'show', '-d', dataDir, ...more],
          env,
        })),
      )
    },
  }
}

/** Records every value that buyers and nodes choose. */
function recordHostileSales(path: string): void {
  const claims = new SqliteClaims(path)
  const texts = { payer: hostile, payTo: hostile, assetName: hostile, route: hostile, method: hostile, path: hostile }
  const numbers = { amount: '10', asset: '7', timeMs: Date.now(), round: 7, firstValid: 1, lastValid: 2, isDue: false }
  const outcomes = ['settled', 'refused'] as const
  claims.sales.record(
    outcomes.map((outcome, index) => ({
      ...{ ...texts, ...numbers, outcome, transactionId: `${index}`.repeat(52), code: hostile, network: hostile },
      decimals: index === 0 ? 6 : undefined,
    })),
  )
  claims.close()
}
