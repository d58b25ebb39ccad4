/** The key daemon as commands find and use it. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Kmd, KmdClientError, type Wallet, type WalletInfo } from '@latchkey/kmd-client'
import { type Option, UsageError } from './Command.js'
import { CommandError } from './exitCodes.js'
import { password, passwordOptions } from './password.js'
import { quoted } from './printable.js'
import { withProgress } from './progress.js'

export const daemonOptions = {
  'data-dir': {
    type: 'string',
    short: 'd',
    value: 'DIR',
    completes: 'directory',
    about: "the daemon's directory (~/.latchkey/kmd-v0.5)",
  },
} as const satisfies { [name: string]: Option }

/** What commands take that work on the keys of a wallet. */
export const walletOptions = {
  wallet: { type: 'string', short: 'w', value: 'NAME', about: 'the wallet; may be left out where there is only one' },
  ...passwordOptions,
  ...daemonOptions,
} as const satisfies { [name: string]: Option }

type Given = { readonly 'data-dir'?: string | undefined }
type WalletGiven = Given & Parameters<typeof password>[0] & { readonly wallet?: string | undefined }

/** Where the daemon keeps its files when nobody says otherwise. */
export function dataDirectory(given: string | undefined): string {
  const said = given ?? process.env['KMD_DATA_DIR']
  return said === undefined || said === '' ? join(homedir(), '.latchkey', 'kmd-v0.5') : resolve(said)
}

/** Does `work` with the daemon that runs there. */
export async function withDaemon<T>(given: Given, work: (kmd: Kmd) => Promise<T>): Promise<T> {
  const dataDir = dataDirectory(given['data-dir'])
  let kmd: Kmd | undefined
  try {
    kmd = await Kmd.connect({ dataDir })
    return await work(kmd)
  } catch (error) {
    throw error instanceof KmdClientError ? explain(error, dataDir) : error
  } finally {
    kmd?.close()
  }
}

export type Unlocked = { readonly kmd: Kmd; readonly wallet: Wallet; readonly password: () => Promise<Uint8Array> }

/** Does `work` with the unlocked wallet, and locks it again. */
export function withWallet<T>(given: WalletGiven, work: (unlocked: Unlocked) => Promise<T>): Promise<T> {
  return withDaemon(given, async (kmd) => {
    const { id, name } = await chooseWallet(kmd, given.wallet)
    return withPassword(given, name, async (obtain) => {
      const wallet = await withProgress(`Unlocking ${quoted(name)}`, kmd.unlock({ id, password: obtain }))
      try {
        return await work({ kmd, wallet, password: obtain })
      } finally {
        // What was done is done; the handle ends by itself.
        await wallet.release().catch(() => {})
      }
    })
  })
}

/** Obtains the password first, so that nothing else is on the screen while it is asked for, and wipes it at the end. */
export async function withPassword<T>(
  given: Parameters<typeof password>[0],
  wallet: string,
  work: (password: () => Promise<Uint8Array>) => Promise<T>,
): Promise<T> {
  const obtain = password(given, quoted(wallet))
  const bytes = await obtain()
  try {
    return await work(obtain)
  } finally {
    bytes.fill(0)
  }
}

/** The one that is said, here or in the environment, or the only one there is. */
export async function chooseWallet(kmd: Kmd, given: string | undefined): Promise<WalletInfo> {
  const said = given ?? process.env['KMD_WALLET']
  const wallets = await kmd.wallets.list()
  if (said !== undefined && said !== '') return pick(wallets, said)
  const [first] = wallets
  if (first === undefined)
    throw new CommandError('failed', 'there is no wallet yet; latchkey wallet new NAME makes one')
  if (wallets.length === 1) return first
  const names = wallets.slice(0, 5).map(({ name }) => quoted(name))
  throw new UsageError(`say which wallet, with --wallet: ${names.join(', ')}${wallets.length > 5 ? ', ...' : ''}`)
}

/** By its name, or by its id where names do not tell wallets apart. */
export async function findWallet(kmd: Kmd, said: string): Promise<WalletInfo> {
  return pick(await kmd.wallets.list(), said)
}

function pick(wallets: readonly WalletInfo[], said: string): WalletInfo {
  const [found, another] = wallets.filter(({ name }) => name === said)
  if (another !== undefined) {
    throw new CommandError(
      'failed',
      `several wallets are named ${quoted(said)}; give the id that latchkey wallet list shows`,
    )
  }
  const wallet = found ?? wallets.find(({ id }) => id === said)
  if (wallet !== undefined) return wallet
  throw new CommandError('failed', `there is no wallet named ${quoted(said)}; latchkey wallet list shows them`)
}

/** What the client or the daemon said, for somebody at a command line. */
function explain(error: KmdClientError, dataDir: string): CommandError {
  const { code: clientCode, message, retryAfterSeconds } = error
  const fail = (code: CommandError['code'], text: string): CommandError =>
    new CommandError(code, text, { cause: error })
  const wait = retryAfterSeconds === undefined ? 'a while' : seconds(retryAfterSeconds)
  if (clientCode === 'daemon_not_running') {
    return fail('unreachable', `no key daemon runs in ${dataDir}; latchkey kmd starts one`)
  }
  if (['connection_lost', 'timeout', 'data_directory_unreadable'].includes(clientCode))
    return fail('unreachable', message)
  if (clientCode === 'too_many_wrong_passwords') {
    return fail('password', `too many wrong passwords for this wallet; wait ${wait}, then give the right one`)
  }
  if (clientCode === 'password_required' || clientCode === 'wrong_password') {
    return fail('password', 'that is not the password of the wallet; nothing was done')
  }
  if (retryAfterSeconds !== undefined) return fail('failed', `the daemon is busy; try again in ${wait}`)
  return fail('failed', cures.get(message) ?? message)
}

function seconds(count: number): string {
  return count === 1 ? '1 second' : `${count} seconds`
}

/** The daemon's texts are those that programs match on; people want to know what to do. */
const cures: ReadonlyMap<string, string> = new Map([
  [
    'invalid API token',
    'the daemon refuses the API token in kmd.token; is it of this directory? latchkey doctor looks',
  ],
  ['wallet with same name already exists', 'there is a wallet of that name already; choose another name'],
  ['wallet name too long, must be <= 64 bytes', 'that name is too long; a wallet has one of at most 64 bytes'],
  ['wallet name must not be blank', 'a wallet needs a name'],
  ['wallet not found', 'the wallet is no longer there; latchkey wallet list shows those that are'],
  ['key already exists in wallet', 'the wallet has it already; nothing was done'],
  ['key does not exist in this wallet', 'the wallet has no such key; latchkey key list shows them'],
  [
    'multisig information (pks, threshold) for address does not exist in this wallet',
    'the wallet has no such multisig account; latchkey multisig list shows them',
  ],
])
