/**
 * The key daemon as a service of the machine with a dedicated user: no program of another user can read its files, so
 * the limits of agents cannot be bypassed. Programs of a group connect to its Unix socket.
 */
import { homedir } from 'node:os'
import { join, sep } from 'node:path'
import type { Option } from '../Command.js'
import { UsageError } from '../errors.js'
import { checkWord, marker, restrictions, unitName, unitWord } from './serviceFile.js'

export const systemOption = {
  system: { type: 'boolean', description: 'install a system service under its own user; requires root and systemd' },
} as const satisfies { [name: string]: Option }

export const serviceUser = 'latchkey-kmd'
/** Members may connect to the Unix socket; a token is still required. */
export const socketGroup = 'latchkey-agents'
export const systemDataDir = `/var/lib/${serviceUser}/kmd-v0.5`
export const systemSocket = `/run/${serviceUser}/kmd.sock`

export type SystemFile = { readonly path: string; readonly text: string }

export type SystemServiceOptions = {
  /** Node and the script, with absolute paths. */
  readonly program: readonly [node: string, script: string]
  /** Further arguments of `latchkey kmd`. */
  readonly args: readonly string[]
  /** The directory that represents `/`, such as in an image. @default '/' */
  readonly root?: string | undefined
}

/** The paths of the files, the unit first. */
export function systemPaths(root = '/'): { unit: string; users: string } {
  return {
    unit: join(root, 'etc', 'systemd', 'system', unitName),
    users: join(root, 'etc', 'sysusers.d', `${serviceUser}.conf`),
  }
}

export function systemFiles({ program, args, root }: SystemServiceOptions): SystemFile[] {
  checkProgram(program)
  const { unit, users } = systemPaths(root)
  const words = [...program, 'kmd', '--data-dir', systemDataDir, ...args]
  for (const word of words) checkWord(word)
  return [
    { path: unit, text: unitText(words) },
    { path: users, text: usersText },
  ]
}

/** The user of the service cannot read files in a home directory, and their owner could replace them. */
function checkProgram(program: readonly string[]): void {
  const homes = ['/home', '/root', '/tmp', '/var/tmp', homedir()]
  const inHome = program.find((path) => homes.some((home) => path.startsWith(`${home}${sep}`)))
  if (inHome === undefined) return
  throw new UsageError(`${inHome} is in a user's home directory, which the service cannot read`, {
    hint: 'install Node and Latchkey system-wide, such as in /opt, and run that installation; see docs/agents.md',
  })
}

const configFile = `${systemDataDir}/kmd_config.json`
/** Written once; afterwards the owner controls it. */
const firstSettings = JSON.stringify({ unix_socket: systemSocket, unix_socket_group: socketGroup })
const writeSettings = ['/bin/sh', '-c', `test -e ${configFile} || echo '${firstSettings}' > ${configFile}`]

const usersText = `# ${marker}. latchkey service uninstall --system removes it; user and group stay.
#Type Name Id GECOS Home
u ${serviceUser} - "Latchkey key daemon" /var/lib/${serviceUser}
g ${socketGroup} -
m ${serviceUser} ${socketGroup}
`

function unitText(words: readonly string[]): string {
  return `# ${marker} --system. latchkey service uninstall --system removes it.
[Unit]
Description=Latchkey key daemon
Documentation=man:systemd.service(5)
After=network.target

[Service]
Type=exec
User=${serviceUser}
Group=${serviceUser}
SupplementaryGroups=${socketGroup}
StateDirectory=${serviceUser} ${serviceUser}/kmd-v0.5
StateDirectoryMode=0700
# Others may pass, to the socket alone, whose mode lets in the group.
RuntimeDirectory=${serviceUser}
RuntimeDirectoryMode=0755
ExecStartPre=${writeSettings.map(unitWord).join(' ')}
ExecStart=${words.map(unitWord).join(' ')}
${restrictions}
CapabilityBoundingSet=
AmbientCapabilities=
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
# PrivateUsers must not be set: the users of agents would all look alike.

[Install]
WantedBy=multi-user.target
`
}

/** The commands that create the user, and start the daemon now and at boot. */
export const systemStartCommands: readonly string[][] = [
  ['systemd-sysusers', systemPaths().users],
  ['systemctl', 'daemon-reload'],
  ['systemctl', 'enable', unitName],
  ['systemctl', 'restart', unitName],
]
