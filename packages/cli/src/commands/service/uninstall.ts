/** `latchkey service uninstall`: stops the service of the key daemon and removes its file. */
import { readFileSync, rmSync } from 'node:fs'
import { command, jsonOption } from '../../Command.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable } from '../../format.js'
import { printJson, printResult, printWarning } from '../../messages.js'
import { forgetCommands, runAll, stopCommands } from '../../service/manage.js'
import { managerOf, marker, servicePath } from '../../service/serviceFile.js'
import { systemOption, systemPaths } from '../../service/systemService.js'

export const serviceUninstallCommand = command({
  description: "Stop the key daemon's service and remove its file. Wallets, token and settings stay.",
  options: {
    system: {
      ...systemOption.system,
      description: 'remove the system service instead of the service of this user; requires root',
    },
    ...jsonOption,
  },
  examples: ['latchkey service uninstall'],
  exits: ['unreachable'],
  run: async ({ options }) => {
    const manager = managerOf(process.platform)
    if (manager === undefined)
      throw new CommandError('service_unsupported', `user services are not supported on ${process.platform}`)
    const isSystem = options.system === true
    const path = isSystem ? systemPaths().unit : servicePath(manager, process.env)
    const text = readText(path)
    if (text === undefined) throw new CommandError('service_not_installed', `${path} does not exist`)
    if (!text.includes(marker))
      throw new CommandError('file_exists', `${path} was not written by latchkey service install and was not removed`, {
        hint: 'remove it by hand',
      })
    const stopping = runAll(stopCommands(manager, isSystem), isSystem)
    remove(isSystem ? [path, systemPaths().users] : [path])
    const steps = [...stopping, ...runAll(forgetCommands(manager, isSystem), isSystem)]
    if (options.json) printJson({ manager, path, removed: true, steps })
    else printResult(`Removed ${printable(path)}.\n`)
    const failed = steps.find(({ isOk }) => !isOk)
    if (failed !== undefined)
      printWarning(`${failed.command.join(' ')} failed: ${failed.problem}; to stop a running daemon: latchkey kmd stop`)
    return exitCodes.ok
  },
})

function remove(paths: readonly string[]): void {
  try {
    for (const path of paths) rmSync(path, { force: true })
  } catch (cause) {
    const message = `the service file cannot be removed: ${(cause as Error).message}`
    throw new CommandError('file_unwritable', message, { hint: 'run it as root', cause })
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
