/** `latchkey service install`: lets the service manager of the user run the key daemon. */
import { mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { command, jsonOption } from '../../Command.js'
import { dataDirectory } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable } from '../../format.js'
import { printJson, printResult, printWarning } from '../../messages.js'
import { runAll, type Step, startCommands } from '../../service/manage.js'
import { managerOf, marker, type ServiceManager, servicePath, serviceText } from '../../service/serviceFile.js'
import { createDirectory, kmdOptions } from '../kmd/options.js'

export const serviceInstallCommand = command({
  description: `Writes a service file for the key daemon, prints it, and starts the daemon with it: a systemd user unit on Linux, a launchd agent on \
macOS. The daemon then starts with the session of the user, and again if it fails. Needs no root.`,
  options: {
    ...kmdOptions,
    sandbox: {
      type: 'boolean',
      description: 'on Linux: also let the daemon write nowhere but in its directory; needs user namespaces',
    },
    'dry-run': { type: 'boolean', description: 'print the file and write nothing' },
    'no-start': { type: 'boolean', description: 'write the file and start nothing' },
    force: { type: 'boolean', description: 'replace a file that another program or a person wrote' },
    ...jsonOption,
  },
  notes: `Without a session, as on a server, systemd starts user units only after: loginctl enable-linger. A wallet stays locked until a program \
opens it with its password, which is in no service file.`,
  examples: ['latchkey service install', 'latchkey service install --dry-run', 'latchkey service install --sandbox'],
  run: async ({ options }) => {
    const manager = managerOf(process.platform) ?? unsupported()
    const dataDir = dataDirectory(options['data-dir'])
    const path = servicePath(manager, process.env)
    const passedOn = ['timeout', 'wire', 'node', 'log-format', 'log-level'] as const
    const text = serviceText(manager, {
      program: [process.execPath, realpathSync(process.argv[1]!)],
      dataDir,
      args: passedOn.flatMap((name) => (options[name] === undefined ? [] : [`--${name}=${options[name]}`])),
      isSandboxed: options.sandbox ?? false,
    })
    const isDry = options['dry-run'] === true
    if (!isDry) {
      checkOwner(path, options.force ?? false)
      createDirectory(dataDir)
      write(path, text)
    }
    const commands = startCommands(manager, path)
    const steps = isDry || options['no-start'] ? [] : runAll(commands)
    const failed = steps.find(({ isOk }) => !isOk)
    if (options.json) printJson({ manager, path, text, written: !isDry, started: steps.length > 0 && !failed, steps })
    else
      printResult(
        `${isDry ? 'It would write' : 'Wrote'} ${printable(path)}:\n\n${text}\n${outcome(steps, commands, isDry)}`,
      )
    if (failed !== undefined) printWarning(advice(manager, failed, commands))
    return failed === undefined ? exitCodes.ok : exitCodes.failed
  },
})

function unsupported(): never {
  throw new CommandError('service_unsupported', `there are no user services on ${process.platform}`, {
    hint: 'latchkey kmd start runs the daemon in the background',
  })
}

function checkOwner(path: string, isForced: boolean): void {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return
  }
  if (text.includes(marker) || isForced) return
  const hint = 'move it away, or give --force to replace it'
  throw new CommandError('file_exists', `${path} exists and is not of latchkey service install`, { hint })
}

function write(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    AtomicFile.replaceSync(path, text)
  } catch (cause) {
    throw new CommandError('file_unwritable', `the service file cannot be written: ${(cause as Error).message}`, {
      cause,
    })
  }
}

function outcome(steps: readonly Step[], commands: readonly string[][], isDry: boolean): string {
  if (isDry) return ''
  if (steps.length === 0) return `To start it:\n${commands.map((words) => `  ${words.join(' ')}\n`).join('')}`
  return steps.some(({ isOk }) => !isOk) ? '' : 'The key daemon runs. latchkey service status shows it.\n'
}

function advice(manager: ServiceManager, { command: words, problem }: Step, commands: readonly string[][]): string {
  const failed = `${words.join(' ')} failed: ${problem}; the file is written`
  const later = commands.map((one) => one.join(' ')).join(' && ')
  if (manager === 'launchd') return `${failed}. In a session with a desktop: ${later}`
  return `${failed}. In a session of systemd: ${later}. Without systemd: latchkey kmd start`
}
