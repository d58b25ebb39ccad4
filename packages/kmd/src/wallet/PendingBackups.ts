/**
 * Stores the ids of wallets that were created in the console and are not backed up yet. A console session may show the
 * recovery mnemonic only for these wallets, and only until the owner confirms that it is written down.
 */
import { Json } from '@latchkey/algorand'
import { StateFile } from '../state/StateFile.js'

export type PendingBackupsOptions = {
  /** @default none: in memory only */
  file?: string
  /** Called if a new wallet could not be recorded. */
  onFailure?: (error: unknown) => void
}

const maxWallets = 10_000
const maxBytes = 4 * 1024 * 1024
const version = 1

type State = { readonly version: number; readonly wallets: readonly string[] }

export class PendingBackups {
  readonly #file: StateFile<State>
  readonly #onFailure: ((error: unknown) => void) | undefined

  constructor({ file, onFailure }: PendingBackupsOptions = {}) {
    this.#file = new StateFile({ path: file, maxBytes, empty: { version, wallets: [] }, parse })
    this.#onFailure = onFailure
  }

  /** The keys of the wallets (see `WalletDirectory.Entry`), oldest first. */
  list(): readonly string[] {
    return this.#file.read().wallets
  }

  has(wallet: string): boolean {
    return this.list().includes(wallet)
  }

  /**
   * Never throws, because the wallet already exists. If recording fails, the wallet can be backed up only on the
   * command line.
   */
  add(wallet: string): void {
    try {
      this.#file.write({ version, wallets: [...this.list(), wallet].slice(-maxWallets) })
    } catch (error) {
      this.#onFailure?.(error)
    }
  }

  /** Succeeds even if the wallet is not in the list. */
  remove(wallet: string): void {
    const wallets = this.list()
    if (wallets.includes(wallet)) this.#file.write({ version, wallets: wallets.filter((other) => other !== wallet) })
  }
}

function parse(json: unknown): State {
  if (!Json.isObject(json) || json['version'] !== version) throw new Error(`its version is not ${version}`)
  const wallets = json['wallets']
  const isList = Array.isArray(wallets) && wallets.length <= maxWallets
  if (!isList || !wallets.every((wallet) => typeof wallet === 'string'))
    throw new Error('it does not contain a list of wallets')
  return { version, wallets }
}
