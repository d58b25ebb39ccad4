/** Finds the key daemon for a command, unlocks the wallet, and converts the daemon's errors to those of the command. */

import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import * as Suggestion from '@latchkey/algorand/suggestion'
import { Kmd, KmdClientError, type KmdClientErrorCode, type Wallet, type WalletInfo } from '@latchkey/kmd-client'
import type { Option } from './Command.js'
import { CommandError, type CommandErrorCode, UsageError } from './errors.js'
import { clientExits } from './exitCodes.js'
import { quoted, shellWord } from './format.js'
import { withProgress } from './messages.js'
import { password, passwordOptions } from './password.js'
import { dataDirectoryAt } from './stack/stateDirectory.js'

export const daemonOptions = {
  'data-dir': {
    type: 'string',
    short: 'd',
    placeholder: 'DIR',
    completes: 'directory',
    description: "the daemon's data directory (~/.latchkey/kmd-v0.5)",
  },
} as const satisfies { [name: string]: Option }

/** The options of commands that work on the keys of a wallet. */
export const walletOptions = {
  wallet: {
    type: 'string',
    short: 'w',
    placeholder: 'NAME',
    description: 'name of the wallet; optional if there is only one',
  },
  ...passwordOptions,
  ...daemonOptions,
} as const satisfies { [name: string]: Option }

type Given = { readonly 'data-dir'?: string | undefined }
type WalletGiven = Given & Parameters<typeof password>[0] & { readonly wallet?: string | undefined }

/**
 * Returns the data directory: the given one, that of the environment, or the default. The directory of a dev stack is
 * accepted too.
 */
export function dataDirectory(
  given: string | undefined,
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  const chosen = given ?? environment['KMD_DATA_DIR']
  return chosen === undefined || chosen === ''
    ? join(homedir(), '.latchkey', 'kmd-v0.5')
    : dataDirectoryAt(resolve(chosen))
}

/** A command as it has to be typed for a data directory: with `-d DIR`, unless the directory is the default. */
export function commandFor(name: string, dataDir: string): string {
  return dataDir === dataDirectory(undefined, {}) ? `latchkey ${name}` : `latchkey ${name} -d ${shellWord(dataDir)}`
}

/** Calls `work` with a client of the daemon that runs in the data directory. */
export async function withDaemon<T>(given: Given, work: (kmd: Kmd) => Promise<T>): Promise<T> {
  const dataDir = dataDirectory(given['data-dir'])
  let kmd: Kmd | undefined
  try {
    kmd = await Kmd.connect({ dataDir })
    return await work(kmd)
  } catch (error) {
    throw explainDaemonError(error, dataDir)
  } finally {
    kmd?.close()
  }
}

export type Unlocked = { readonly kmd: Kmd; readonly wallet: Wallet; readonly password: () => Promise<Uint8Array> }

/** Calls `work` with the unlocked wallet, and locks it afterwards. */
export function withWallet<T>(given: WalletGiven, work: (unlocked: Unlocked) => Promise<T>): Promise<T> {
  return withDaemon(given, async (kmd) => {
    const { id, name } = await chooseWallet(kmd, given.wallet)
    return withPassword(given, name, async (obtain) => {
      const wallet = await withProgress(`Unlocking ${quoted(name)}`, kmd.unlock({ id, password: obtain }))
      try {
        return await work({ kmd, wallet, password: obtain })
      } finally {
        // The work is done, and a handle that is not released expires.
        await wallet.release().catch(() => {})
      }
    })
  })
}

/** Reads the password first, so that nothing else is on the screen during the prompt, and wipes it at the end. */
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

/** Returns the wallet named by an option or in the environment, or the only wallet. */
export async function chooseWallet(kmd: Kmd, given: string | undefined): Promise<WalletInfo> {
  const name = given ?? process.env['KMD_WALLET']
  const wallets = await kmd.wallets.list()
  if (name !== undefined && name !== '') return select(wallets, name)
  const [first] = wallets
  if (first === undefined) {
    throw new CommandError('wallet_not_found', 'no wallet exists yet', {
      hint: 'create one with latchkey wallet new NAME',
    })
  }
  if (wallets.length === 1) return first
  const names = wallets.slice(0, 5).map((wallet) => quoted(wallet.name))
  throw new UsageError(`there are several wallets: ${names.join(', ')}${wallets.length > 5 ? ' and others' : ''}`, {
    hint: 'select one with --wallet',
  })
}

/** Finds a wallet by its name, or by its id if names are ambiguous. */
export async function findWallet(kmd: Kmd, name: string): Promise<WalletInfo> {
  return select(await kmd.wallets.list(), name)
}

function select(wallets: readonly WalletInfo[], given: string): WalletInfo {
  const [found, another] = wallets.filter(({ name }) => name === given)
  if (another !== undefined) {
    throw new CommandError('wallet_ambiguous', `several wallets are named ${quoted(given)}`, {
      hint: "give the wallet's id from latchkey wallet list",
    })
  }
  const wallet = found ?? wallets.find(({ id }) => id === given)
  if (wallet !== undefined) return wallet
  throw new CommandError('wallet_not_found', `wallet ${quoted(given)} not found`, {
    hint:
      Suggestion.didYouMean(
        given,
        wallets.map(({ name }) => name),
      ) ?? 'list the wallets with latchkey wallet list',
  })
}

/** The remedy if another user's program listens at the address in kmd.net. */
export const foreignCure = 'restart the daemon with latchkey kmd; find the program with ss -ltnp'

type Explanation = readonly [code: CommandErrorCode, message: string, hint?: string | undefined]

/** The daemon's texts are those of the Go daemon. A person at a terminal needs to know what to do. */
const explanations: { readonly [Code in KmdClientErrorCode]?: Explanation } = {
  wrong_password: ['wrong_password', 'wrong password; nothing was done'],
  password_required: ['password_required', "the operation requires the wallet's password; nothing was done"],
  invalid_token: [
    'token_refused',
    'the daemon does not accept the API token in kmd.token',
    'find the reason with latchkey doctor',
  ],
  name_taken: ['wallet_exists', 'a wallet with this name already exists', 'choose another name'],
  name_too_long: ['daemon_error', 'the name is too long', 'a wallet name has at most 64 bytes'],
  name_blank: ['daemon_error', 'a wallet needs a name'],
  wallet_not_found: ['wallet_not_found', 'the wallet no longer exists', 'list the wallets with latchkey wallet list'],
  agent_not_found: ['agent_not_found', 'agent not found', 'list the agents with latchkey agent list --all'],
  agent_name_taken: [
    'agent_exists',
    'an agent with this name already exists',
    'choose another name, or revoke that agent',
  ],
  agent_ended: [
    'agent_ended',
    'the agent has ended: it was revoked, it expired, or its key was deleted',
    'create another with latchkey agent new',
  ],
  approval_not_found: [
    'approval_not_found',
    'approval not found',
    'list the approvals with latchkey approvals list --all',
  ],
  key_exists: ['key_exists', 'the wallet already has the key; nothing was done'],
  key_not_found: ['key_not_found', 'key not found in the wallet', 'list the keys with latchkey key list'],
  multisig_not_found: [
    'multisig_not_found',
    'multisig account not found in the wallet',
    'list the multisig accounts with latchkey multisig list',
  ],
}

/** Converts an error of the daemon's client to one of the command. Returns any other error unchanged. */
export function explainDaemonError(cause: unknown, dataDir: string): unknown {
  if (!(cause instanceof KmdClientError)) return cause
  const [code, message, hint] = explain(cause, dataDir)
  return new CommandError(code, message, { hint, cause })
}

function explain({ code, message, retryAfterSeconds }: KmdClientError, dataDir: string): Explanation {
  const known = explanations[code]
  if (known !== undefined) return known
  const wait = retryAfterSeconds === undefined ? 'a while' : seconds(retryAfterSeconds)
  if (code === 'daemon_not_running') {
    return [
      'daemon_not_running',
      `no key daemon is running in ${dataDir}`,
      `start one with ${commandFor('kmd', dataDir)}`,
    ]
  }
  if (code === 'foreign_listener') return [code, `${message}; nothing was sent to it`, foreignCure]
  if (code === 'too_many_wrong_passwords') {
    return [code, 'too many wrong passwords for this wallet', `wait ${wait}, then give the correct password`]
  }
  if (code === 'wallet_name_not_found')
    return ['wallet_not_found', message, 'list the wallets with latchkey wallet list']
  if (code === 'wallet_name_ambiguous') {
    return ['wallet_ambiguous', message, "give the wallet's id from latchkey wallet list"]
  }
  if (code === 'bad_agent') return ['invalid_agent', message]
  if (code === 'approval_decided') return [code, message]
  // The message already says what to do.
  if (clientExits[code] === 'unreachable') return ['daemon_unreachable', message]
  if (retryAfterSeconds !== undefined) return ['daemon_busy', 'the daemon is busy', `try again in ${wait}`]
  return ['daemon_error', message]
}

function seconds(count: number): string {
  return count === 1 ? '1 second' : `${count} seconds`
}
