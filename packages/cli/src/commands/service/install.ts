/** `latchkey service install`: installs the key daemon as a service of the user or of the machine. */
import { mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { command, jsonOption } from '../../Command.js'
import { dataDirectory } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable } from '../../format.js'
import { printJson, printResult, printWarning } from '../../messages.js'
import { checkSystemProgram, programWarning } from '../../service/checkProgram.js'
import { type CommandResult, runAll, startCommands } from '../../service/manage.js'
import { managerOf, marker, type ServiceManager, servicePath, serviceText } from '../../service/serviceFile.js'
import {
  serviceUser,
  socketGroup,
  systemDataDir,
  systemFiles,
  systemOption,
  systemSocket,
  systemStartCommands,
} from '../../service/systemService.js'
import { createDirectory, kmdOptions } from '../kmd/options.js'

export const serviceInstallCommand = command({
  description: `Write and print a service file for the key daemon and start the service: a systemd user unit; on macOS, where Latchkey is \
untested, a launchd agent. The daemon then starts with the user's session and restarts if it fails. Root is not required. With --system, install a system service \
under its own user, whose files your programs cannot read: agent limits then also hold against programs that run as you.`,
  options: {
    ...kmdOptions,
    sandbox: {
      type: 'boolean',
      description: 'on Linux: restrict the daemon to writing in its own directory; requires user namespaces',
    },
    ...systemOption,
    root: {
      type: 'string',
      placeholder: 'DIR',
      completes: 'directory',
      description: 'with --system: write below this directory, such as that of an image, and start nothing',
    },
    'dry-run': { type: 'boolean', description: 'print the file and write nothing' },
    'no-start': { type: 'boolean', description: 'write the file and start nothing' },
    force: { type: 'boolean', description: 'replace a file that this command did not write' },
    ...jsonOption,
  },
  notes: `Without a login session, such as on a server, systemd starts user units only after loginctl enable-linger. A wallet stays locked until a program \
unlocks it with its password, which no service file contains.`,
  examples: [
    'latchkey service install',
    'latchkey service install --dry-run',
    'latchkey service install --sandbox',
    'sudo latchkey service install --system',
  ],
  run: async ({ options }) => {
    const manager = managerOf(process.platform) ?? unsupported()
    if (options.system) return installSystem(manager, options)
    if (options.root !== undefined) throw new UsageError('--root requires --system')
    const dataDir = dataDirectory(options['data-dir'])
    const path = servicePath(manager, process.env)
    const program = [process.execPath, realpathSync(process.argv[1]!)] as const
    const text = serviceText(manager, {
      program,
      dataDir,
      args: passedOnFrom(options),
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
    const warning = programWarning(program)
    if (warning !== undefined) printWarning(warning)
    if (failed !== undefined) printWarning(advice(manager, failed, commands))
    return failed === undefined ? exitCodes.ok : exitCodes.failed
  },
})

const passedOn = ['timeout', 'wire', 'node', 'log-format', 'log-level'] as const

type PassedOn = { readonly [name in (typeof passedOn)[number]]?: string | undefined }

/** The options that are passed to the daemon. */
function passedOnFrom(options: PassedOn): string[] {
  return passedOn.flatMap((name) => (options[name] === undefined ? [] : [`--${name}=${options[name]}`]))
}

type SystemGiven = PassedOn & {
  readonly [name in 'data-dir' | 'unix-socket' | 'root']?: string | undefined
} & { readonly [name in 'sandbox' | 'dry-run' | 'no-start' | 'force' | 'json']?: boolean | undefined }

/** Installs a service of the machine with a dedicated user. */
function installSystem(manager: ServiceManager, options: SystemGiven): number {
  if (manager !== 'systemd') throw new UsageError('--system needs systemd')
  if (options['data-dir'] !== undefined || options['unix-socket'] !== undefined) {
    throw new UsageError(
      `--system excludes --data-dir and --unix-socket: the directory is ${systemDataDir}, and the socket ${systemSocket}`,
    )
  }
  const root = options.root === undefined || resolve(options.root) === '/' ? undefined : resolve(options.root)
  const program = [process.execPath, realpathSync(process.argv[1]!)] as const
  const files = systemFiles({ program, args: passedOnFrom(options), root })
  checkSystemProgram(program, root)
  const isDry = options['dry-run'] === true
  if (!isDry) {
    for (const { path } of files) checkOwner(path, options.force ?? false)
    for (const { path, text } of files)
      write(path, text, 'run the command as root: sudo latchkey service install --system')
  }
  const steps = isDry || options['no-start'] || root !== undefined ? [] : runAll(systemStartCommands, true)
  const failed = steps.find(({ isOk }) => !isOk)
  const isStarted = steps.length > 0 && failed === undefined
  if (options.json) printJson({ manager, files, written: !isDry, started: isStarted, steps })
  else {
    const shown = files.map(
      ({ path, text }) => `${isDry ? 'It would write' : 'Wrote'} ${printable(path)}:\n\n${text}\n`,
    )
    printResult(`${shown.join('')}${outcome(steps, systemStartCommands, isDry)}${isDry ? '' : systemAdvice}`)
  }
  if (failed !== undefined) printWarning(`${failed.command.join(' ')} failed: ${failed.problem}; the files are written`)
  return failed === undefined ? exitCodes.ok : exitCodes.failed
}

const systemAdvice = `You use it as its user:
  sudo -u ${serviceUser} latchkey wallet new NAME -d ${systemDataDir}
Programs connect to 127.0.0.1:7833 with the token of an agent; those of the group ${socketGroup} also to ${systemSocket}.
`

function unsupported(): never {
  throw new CommandError('service_unsupported', `user services are not supported on ${process.platform}`, {
    hint: 'run the daemon in the background with latchkey kmd start',
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
  throw new CommandError('file_exists', `${path} exists and was not written by latchkey service install`, { hint })
}

function write(path: string, text: string, hint?: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    AtomicFile.replaceSync(path, text)
  } catch (cause) {
    const message = `the service file cannot be written: ${(cause as Error).message}`
    throw new CommandError('file_unwritable', message, { hint, cause })
  }
}

function outcome(steps: readonly CommandResult[], commands: readonly (readonly string[])[], isDry: boolean): string {
  if (isDry) return ''
  if (steps.length === 0) return `To start it:\n${commands.map((words) => `  ${words.join(' ')}\n`).join('')}`
  return steps.some(({ isOk }) => !isOk) ? '' : 'The key daemon is running. To see its state: latchkey service status\n'
}

function advice(
  manager: ServiceManager,
  { command: words, problem }: CommandResult,
  commands: readonly string[][],
): string {
  const failed = `${words.join(' ')} failed: ${problem}; the service file was written`
  const later = commands.map((one) => one.join(' ')).join(' && ')
  if (manager === 'launchd') return `${failed}. In a desktop session, run: ${later}`
  return `${failed}. In a systemd session, run: ${later}. Without systemd, run: latchkey kmd start`
}
