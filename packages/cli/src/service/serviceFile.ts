/** The file with which the service manager of a user runs the key daemon: a systemd user unit, or a launchd agent. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { UsageError } from '../errors.js'

export type ServiceManager = 'systemd' | 'launchd'

export const unitName = 'latchkey-kmd.service'
export const agentLabel = 'dev.latchkey.kmd'
/** Present in every file that we write. Other files are neither replaced nor removed. */
export const marker = 'Written by latchkey service install'

export type ServiceOptions = {
  /** Node and the script, with absolute paths. */
  readonly program: readonly [node: string, script: string]
  readonly dataDir: string
  /** Further arguments of `latchkey kmd`. */
  readonly args: readonly string[]
  /** Also hides the user's files from the daemon, which needs user namespaces. */
  readonly isSandboxed: boolean
}

export function managerOf(platform: NodeJS.Platform): ServiceManager | undefined {
  if (platform === 'linux') return 'systemd'
  return platform === 'darwin' ? 'launchd' : undefined
}

export function servicePath(manager: ServiceManager, environment: NodeJS.ProcessEnv): string {
  if (manager === 'launchd') return join(homedir(), 'Library', 'LaunchAgents', `${agentLabel}.plist`)
  const { XDG_CONFIG_HOME: config = '' } = environment
  // The XDG base directory specification: a relative path is ignored.
  const base = isAbsolute(config) ? config : join(homedir(), '.config')
  return join(base, 'systemd', 'user', unitName)
}

export function serviceText(manager: ServiceManager, options: ServiceOptions): string {
  const words = [...options.program, 'kmd', '--data-dir', options.dataDir, ...options.args]
  for (const word of words) checkWord(word)
  return manager === 'systemd' ? unit(words, options) : agent(words, options)
}

/** A line break would end the line in a unit and start another setting. */
export function checkWord(word: string): void {
  if (!/\p{Cc}/u.test(word)) return
  throw new UsageError('a path or an option has a control character, which a service file cannot contain', {
    code: 'invalid_value',
  })
}

/** How the daemon is run and restricted to what it needs, as any user. */
export const restrictions = `# Reopens kmd.log and applies settings that need no restart.
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
# Exit code 2: wrong usage. 4: another daemon uses the directory. A restart fixes neither.
RestartPreventExitStatus=2 4
TimeoutStopSec=35
UMask=0077
LimitCORE=0
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
SystemCallArchitectures=native
# V8 protects its code with memory protection keys. It compiles at run time, so MemoryDenyWriteExecute must not be set.
SystemCallFilter=@system-service @pkey
SystemCallErrorNumber=EPERM`

function unit(words: readonly string[], { dataDir, isSandboxed }: ServiceOptions): string {
  return `# ${marker}. latchkey service uninstall removes it.
[Unit]
Description=Latchkey key daemon
Documentation=man:systemd.service(5)

[Service]
Type=exec
ExecStart=${words.map(unitWord).join(' ')}
${restrictions}
${isSandboxed ? sandbox(dataDir) : ''}
[Install]
WantedBy=default.target
`
}

/** These settings need user namespaces, which some systems deny, where the unit would not start. */
function sandbox(dataDir: string): string {
  return `PrivateUsers=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths=${quotedWord(withSpecifiers(dataDir))}
ProtectControlGroups=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
`
}

/** systemd.service(5): only a command line has variables, so only there the dollar sign is doubled. */
export function unitWord(word: string): string {
  return quotedWord(withSpecifiers(word).replaceAll('$', '$$$$'))
}

/** systemd.unit(5): a percent sign begins a specifier, and two are a literal one. */
function withSpecifiers(word: string): string {
  return word.replaceAll('%', '%%')
}

/** systemd.syntax(7). */
function quotedWord(word: string): string {
  return /^[\w/.:=@+%$-]+$/.test(word) ? word : `"${word.replace(/[\\"]/g, '\\$&')}"`
}

function agent(words: readonly string[], { dataDir }: ServiceOptions): string {
  const list = words.map((word) => `    <string>${xml(word)}</string>`).join('\n')
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${marker}. latchkey service uninstall removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${agentLabel}</string>
  <key>ProgramArguments</key>
  <array>
${list}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>HardResourceLimits</key>
  <dict>
    <key>Core</key>
    <integer>0</integer>
  </dict>
  <key>StandardErrorPath</key>
  <string>${xml(join(dataDir, 'kmd-err.log'))}</string>
</dict>
</plist>
`
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
