/** Calls the service manager: for a service of the user without root, and for a service of the machine as root. */
import { spawnSync } from 'node:child_process'
import { agentLabel, type ServiceManager, unitName } from './serviceFile.js'

export type CommandResult = {
  readonly command: readonly string[]
  readonly isOk: boolean
  readonly problem?: string | undefined
}

const timeoutMs = 60_000
/** The directories of system programs: as root, nothing is run from the PATH of a user. */
const systemPath = '/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin'

/** The commands that make the manager read the file, and start the daemon now and with the session. */
export function startCommands(manager: ServiceManager, path: string): string[][] {
  if (manager === 'launchd') return [['launchctl', 'bootstrap', domain(), path]]
  return [
    ['systemctl', '--user', 'daemon-reload'],
    ['systemctl', '--user', 'enable', unitName],
    ['systemctl', '--user', 'restart', unitName],
  ]
}

/** The commands that stop the daemon, before the file is removed. */
export function stopCommands(manager: ServiceManager, isSystem = false): string[][] {
  if (isSystem) return [['systemctl', 'disable', '--now', unitName]]
  if (manager === 'launchd') return [['launchctl', 'bootout', `${domain()}/${agentLabel}`]]
  return [['systemctl', '--user', 'disable', '--now', unitName]]
}

/** The commands after the file is removed. */
export function forgetCommands(manager: ServiceManager, isSystem = false): string[][] {
  if (isSystem) return [['systemctl', 'daemon-reload']]
  return manager === 'systemd' ? [['systemctl', '--user', 'daemon-reload']] : []
}

/** Returns `active`, `inactive`, `failed` and so on, or undefined if the manager does not answer. */
export function stateOf(manager: ServiceManager, isSystem = false): string | undefined {
  const command =
    manager === 'systemd'
      ? ['systemctl', ...(isSystem ? [] : ['--user']), 'is-active', unitName]
      : ['launchctl', 'print', `${domain()}/${agentLabel}`]
  const { stdout, status, error } = call(command, isSystem)
  if (error !== undefined) return undefined
  if (manager === 'launchd') return status === 0 ? 'loaded' : 'not loaded'
  const [word = ''] = (stdout ?? '').trim().split('\n', 1)
  return /^[a-z-]{1,32}$/.test(word) ? word : undefined
}

/** Runs the commands one after the other, until one fails. */
export function runAll(commands: readonly (readonly string[])[], isSystem = false): CommandResult[] {
  const results: CommandResult[] = []
  for (const command of commands) {
    const { status, stderr, error } = call(command, isSystem)
    const isOk = error === undefined && status === 0
    const said = (stderr ?? '').trim().split('\n', 1)[0] ?? ''
    results.push({ command, isOk, problem: isOk ? undefined : (error?.message ?? (said || `exit code ${status}`)) })
    if (!isOk) break
  }
  return results
}

function call([file, ...args]: readonly string[], isSystem: boolean) {
  const env = isSystem ? { PATH: systemPath } : process.env
  return spawnSync(file!, args, { encoding: 'utf8', timeout: timeoutMs, stdio: ['ignore', 'pipe', 'pipe'], env })
}

function domain(): string {
  return `gui/${process.getuid?.() ?? 0}`
}
