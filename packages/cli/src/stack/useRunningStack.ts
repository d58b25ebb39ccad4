/**
 * Lets commands use the running development stack without its environment in their terminal, by setting the stack's
 * environment for this process. A stack is used completely or not at all, so that its keys never meet another network,
 * nor other keys its node. Options and environment take precedence: a given data directory, network or node is used.
 */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Options } from '../Command.js'
import { CommandError } from '../errors.js'
import { printMessage } from '../messages.js'
import * as StackPointer from './StackPointer.js'
import { buyerWallet, dollarAssetId, noteUse, token } from './stackValues.js'
import { defaultStackDirectory, markerName, shortPath } from './stateDirectory.js'

type Environment = { [name: string]: string | undefined }
type Given = { readonly [name: string]: unknown }

/** Selects a stack by its directory; `none` for none. */
export const stackVariable = 'LATCHKEY_STACK'

/**
 * These commands receive a key from elsewhere, which may hold value, so it does not go to a stack that is not named.
 */
const keyReceivers = ['key import', 'wallet recover']

export type Use = {
  readonly name: string
  readonly options: Given
  /** The names of all options of the command. */
  readonly known: Options
  readonly environment: Environment
  /** Whether the daemon of the default data directory answers. @default the daemon is queried */
  readonly isDefaultRunning?: (() => Promise<boolean>) | undefined
}

/**
 * Sets the environment of the stack for the command, and reports it on stderr.
 *
 * @returns the options, with the directory of a stack replaced by the data directory inside it
 * @throws CommandError if a stack is named that is not running
 */
export async function useRunningStack(use: Use): Promise<Given> {
  const { options, environment } = use
  const chosen = environment[stackVariable] ?? ''
  if (chosen === 'none') return options
  const given = options['data-dir']
  const isList = Array.isArray(given)
  // Several daemons cannot be a stack.
  if (isList && given.length > 1) return options
  const named = directoryOf((isList ? given[0] : given) ?? environment['KMD_DATA_DIR'])
  const { running, ended } = StackPointer.find()
  if (named !== undefined) {
    const stack = running.find((one) => isDirectoryOf(one, named))
    if (stack === undefined) return options
    if (!isChainGiven(use)) apply(stack, use)
    if (given === undefined) return options
    const inside = StackPointer.kmdDataDir(stack)
    return { ...options, 'data-dir': isList ? [inside] : inside }
  }
  const note = noteFor(options)
  if (chosen !== '') {
    const stack = running.find((one) => isDirectoryOf(one, directoryOf(chosen)!))
    if (stack === undefined) throw notRunning(chosen, running)
    if (isChainGiven(use)) return options
    apply(stack, use)
    note(`using the dev stack ${describe(stack)}`)
    return options
  }
  await useNewest(use, running, ended, note)
  return options
}

async function useNewest(
  use: Use,
  [stack, ...others]: readonly StackPointer.StackPointer[],
  ended: StackPointer.StackPointer | undefined,
  note: (text: string) => void,
): Promise<void> {
  if (stack === undefined) {
    const directory = ended?.directory ?? earlierDirectory()
    if (directory !== undefined && !isChainGiven(use) && !existsSync(defaultAddressFile()))
      note(`the dev stack in ${shortPath(directory)} has stopped; to restart it: latchkey dev`)
    return
  }
  if (isChainGiven(use) || hasOwnKey(use)) {
    noteUnused(use, note)
    return
  }
  if (keyReceivers.includes(use.name)) {
    const directory = shortPath(stack.directory)
    note(`a dev stack is also running; to import into it, give -d ${directory} (only for keys without funds elsewhere)`)
    return
  }
  if (await (use.isDefaultRunning ?? isDefaultRunning)()) {
    const directory = shortPath(stack.directory)
    note(
      `using the key daemon in ~/.latchkey; a dev stack is also running: to use it, set ${stackVariable}=${directory}`,
    )
    return
  }
  apply(stack, use)
  const more =
    others.length === 0 ? '' : `, the newest of ${others.length + 1}; to use another, set ${stackVariable}=DIR`
  note(`using the dev stack ${describe(stack)}${more}`)
}

/**
 * The directory of a stack that ran earlier. Without a note, its user would wonder why the command uses another
 * network.
 */
function earlierDirectory(): string | undefined {
  const directory = defaultStackDirectory()
  return existsSync(join(directory, markerName)) ? directory : undefined
}

/** An environment variable may have been set long ago, and the error that follows would not name it. */
function noteUnused({ options, known, environment }: Use, note: (text: string) => void): void {
  const names = ['AVM_NETWORK', 'ALGOD_URL', 'AVM_MNEMONIC', 'AVM_PRIVATE_KEY']
  const name = names.find((one) => (environment[one] ?? '') !== '')
  const isByOption = [options['network'], options['node'], options['dollar']].some((value) => value !== undefined)
  if (isByOption || name === undefined || !('data-dir' in known) || existsSync(defaultAddressFile())) return
  note(`a dev stack is running but not used, because ${name} is set in the environment`)
}

/** Prints one line for a person, once. */
function noteFor({ json, quiet }: Given): (text: string) => void {
  return (text) => {
    if (json !== true && quiet !== true) printMessage(`latchkey: ${text}`)
  }
}

function describe({ sellerUrl, directory }: StackPointer.StackPointer): string {
  return `at ${sellerUrl.replace('http://', '')} (${shortPath(directory)})`
}

/** Whether a network or a node is given by option or environment, in which case nothing of the stack is used. */
function isChainGiven({ options, environment }: Use): boolean {
  const isSet = (value: unknown): boolean => value !== undefined && value !== ''
  return (
    [options['network'], options['node'], options['dollar']].some(isSet) ||
    ['AVM_NETWORK', 'ALGOD_URL'].some((name) => isSet(environment[name]))
  )
}

/** Whether a key from the environment signs: it belongs to the intended network, not to this one. */
function hasOwnKey({ options, known, environment }: Use): boolean {
  const isSigner =
    'key' in known && 'network' in known && options['wallet'] === undefined && options['key'] === undefined
  return isSigner && ['AVM_MNEMONIC', 'AVM_PRIVATE_KEY'].some((name) => (environment[name] ?? '') !== '')
}

/** Existing values are kept. */
function apply(stack: StackPointer.StackPointer, { options, environment }: Use): void {
  const set = (name: string, value: string): void => {
    if ((environment[name] ?? '') === '') environment[name] = value
  }
  set('KMD_DATA_DIR', StackPointer.kmdDataDir(stack))
  set('KMD_WALLET', buyerWallet)
  const wallet = options['wallet'] ?? environment['KMD_WALLET']
  if (wallet === buyerWallet) set('KMD_KEY', stack.buyer)
  noteUse()
  set('AVM_NETWORK', 'local')
  set('ALGOD_URL', stack.devnetUrl)
  set('ALGOD_TOKEN', token)
  set('USDC_ASSET_ID', dollarAssetId.toString())
  set('INDEXER_URL', stack.indexerUrl)
  set('FACILITATOR_URL', stack.facilitatorUrl)
  set('RESOURCE_SERVER_URL', stack.sellerUrl)
}

function notRunning(chosen: string, [stack]: readonly StackPointer.StackPointer[]): CommandError {
  const hint =
    stack === undefined
      ? `start one with latchkey dev, or unset ${stackVariable} to use the daemon in ~/.latchkey`
      : `set ${stackVariable}=${shortPath(stack.directory)}, where one is running`
  return new CommandError('stack_not_running', `no dev stack is running in ${chosen}, which ${stackVariable} names`, {
    hint,
  })
}

function isDirectoryOf(stack: StackPointer.StackPointer, directory: string): boolean {
  return [stack.directory, StackPointer.kmdDataDir(stack)].some((one) => realPath(one) === directory)
}

function directoryOf(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' ? realPath(resolve(given)) : undefined
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const defaultDataDirectory = (): string => join(homedir(), '.latchkey', 'kmd-v0.5')
const defaultAddressFile = (): string => join(defaultDataDirectory(), 'kmd.net')
const answerMs = 2_000

/** Does not query without an address, because a stopped daemon removes it. */
async function isDefaultRunning(): Promise<boolean> {
  const dataDir = defaultDataDirectory()
  if (!existsSync(defaultAddressFile())) return false
  const { Kmd, KmdClientError } = await import('@latchkey/kmd-client')
  let kmd: Awaited<ReturnType<typeof Kmd.connect>> | undefined
  try {
    kmd = await Kmd.connect({ dataDir, timeoutMs: answerMs })
    await kmd.health()
    return true
  } catch (error) {
    // A busy daemon, or the Go daemon, which lacks the operation, is running too.
    return !(error instanceof KmdClientError) || error.code !== 'daemon_not_running'
  } finally {
    kmd?.close()
  }
}
