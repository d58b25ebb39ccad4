/** `latchkey service status`: shows whether the service of the key daemon is installed and running. */
import { readFileSync } from 'node:fs'
import { command, jsonOption } from '../../Command.js'
import { exitCodes } from '../../exitCodes.js'
import { printable } from '../../format.js'
import { printJson, printResult } from '../../messages.js'
import { stateOf } from '../../service/manage.js'
import { managerOf, marker, servicePath } from '../../service/serviceFile.js'
import { systemOption, systemPaths } from '../../service/systemService.js'

export const serviceStatusCommand = command({
  description: "Show whether the key daemon's service is installed, and its state in the service manager.",
  options: {
    system: { ...systemOption.system, description: 'show the system service instead of the service of this user' },
    ...jsonOption,
  },
  examples: ['latchkey service status', 'latchkey service status --json'],
  exits: ['unreachable'],
  run: async ({ options }) => {
    const manager = managerOf(process.platform) ?? null
    const isSystem = options.system === true
    const path = manager === null ? null : isSystem ? systemPaths().unit : servicePath(manager, process.env)
    const text = path === null ? undefined : readText(path)
    const state = manager === null || text === undefined ? null : (stateOf(manager, isSystem) ?? null)
    const facts = { manager, path, installed: text !== undefined, own: text?.includes(marker) ?? false, state }
    if (options.json) printJson(facts)
    else printResult(`${printable(describe(facts))}\n`)
    return state === 'active' || state === 'loaded' ? exitCodes.ok : exitCodes.unreachable
  },
})

type Facts = { manager: string | null; path: string | null; installed: boolean; own: boolean; state: string | null }

function describe({ manager, path, installed, own, state }: Facts): string {
  if (manager === null)
    return `User services are not supported on ${process.platform}. To run the daemon in the background: latchkey kmd start`
  if (!installed) return `The service is not installed: ${path} does not exist. To install it: latchkey service install`
  const whose = own ? '' : ', which latchkey service install did not write'
  const what = state === null ? `${manager} does not respond` : `state in ${manager}: ${state}`
  return `${path}${whose}: ${what}.`
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
