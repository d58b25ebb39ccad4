/** Manages a daemon's wallets with operations that need no unlocked wallet. */
import { Bytes } from '@latchkey/algorand'
import type { CallOptions, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { Operation } from './operations.js'
import * as Password from './Password.js'
import { readWalletInfo, type WalletInfo } from './Session.js'

/** Selects a wallet by id, or by name. The client looks up names in the wallet list. */
export type Selector = { id: string; name?: undefined } | { name: string; id?: undefined }

/** Options of `kmd.wallets.create`. */
export type CreateWalletOptions = CallOptions & {
  /** At most 64 bytes. A blank name is replaced by the wallet's id. */
  name: string
  /** Blank for a wallet that needs only the API token. */
  password: Password.Password
  /**
   * 32 bytes that restore another wallet's generated keys.
   *
   * @default random
   */
  masterDerivationKey?: Uint8Array | undefined
  /** @default 'sqlite' */
  driverName?: string | undefined
}

/** Options of calls that select a wallet and need its password. */
export type SelectOptions = CallOptions &
  Selector & {
    /** @default '' */
    password?: Password.Password | undefined
  }

const masterKeyLength = 32

/** Manages a daemon's wallets: `kmd.wallets`. Every method throws {@link KmdClientError}. */
export class Wallets {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Lists all wallets. */
  list(options: CallOptions = {}): Promise<WalletInfo[]> {
    return list(this.#connection, options)
  }

  /** Creates a wallet. */
  async create(options: CreateWalletOptions): Promise<WalletInfo> {
    const { name, password, masterDerivationKey, driverName = 'sqlite', ...callOptions } = options
    const operation = 'CreateWallet'
    if (masterDerivationKey !== undefined && masterDerivationKey.length !== masterKeyLength) {
      const message = `a master derivation key has ${masterKeyLength} bytes`
      throw new KmdClientError('invalid_argument', message, { operation })
    }
    const members = {
      wallet_name: name,
      wallet_driver_name: driverName,
      master_derivation_key: masterDerivationKey === undefined ? undefined : Bytes.toBase64(masterDerivationKey),
    }
    return withPasswords({ wallet_password: password }, operation, async (secrets) => {
      const response = await this.#connection.call(operation, { ...callOptions, members, secrets })
      return readWalletInfo(response.wallet)
    })
  }

  /** Renames a wallet. Its handles stay open. */
  async rename({ newName, ...options }: SelectOptions & { newName: string }): Promise<WalletInfo> {
    const { id, password = '', callOptions } = await this.#select('RenameWallet', options)
    return withPasswords({ wallet_password: password }, 'RenameWallet', async (secrets) => {
      const members = { wallet_id: id, wallet_name: newName }
      const response = await this.#connection.call('RenameWallet', { ...callOptions, members, secrets })
      return readWalletInfo(response.wallet)
    })
  }

  /** Changes a wallet's password and ends its handles. Latchkey's daemon only. */
  async changePassword({ newPassword, ...options }: SelectOptions & { newPassword: Password.Password }): Promise<void> {
    const operation = 'ChangeWalletPassword'
    const { id, password = '', callOptions } = await this.#select(operation, options)
    const passwords = { wallet_password: password, new_wallet_password: newPassword }
    await withPasswords(passwords, operation, (secrets) =>
      this.#connection.call(operation, { ...callOptions, members: { wallet_id: id }, secrets }),
    )
  }

  /**
   * Removes a wallet from the daemon and ends its handles. The wallet file is kept under the returned name; rename it
   * back to undo the deletion. Latchkey's daemon only.
   */
  async delete(options: SelectOptions): Promise<{ movedTo: string }> {
    const { id, password = '', callOptions } = await this.#select('DeleteWallet', options)
    return withPasswords({ wallet_password: password }, 'DeleteWallet', async (secrets) => {
      const members = { wallet_id: id }
      const response = await this.#connection.call('DeleteWallet', { ...callOptions, members, secrets })
      return { movedTo: response.movedTo }
    })
  }

  async #select(operation: Operation, { id, name, password, ...callOptions }: SelectOptions) {
    const walletId = await find(this.#connection, { id, name } as Selector, operation, callOptions)
    return { id: walletId, password, callOptions }
  }
}

export async function find(
  connection: Connection,
  { id, name }: Selector,
  operation: Operation,
  options: CallOptions,
): Promise<string> {
  if (id !== undefined) return id
  if (name === undefined) {
    throw new KmdClientError('invalid_argument', 'select a wallet with { name } or { id }', { operation })
  }
  const [found, another] = (await list(connection, options)).filter((wallet) => wallet.name === name)
  const quoted = JSON.stringify(name)
  if (found === undefined) {
    throw new KmdClientError('wallet_name_not_found', `wallet ${quoted} not found`, { operation })
  }
  if (another !== undefined) {
    const message = `several wallets are named ${quoted}`
    throw new KmdClientError('wallet_name_ambiguous', message, { operation })
  }
  return found.id
}

async function list(connection: Connection, options: CallOptions): Promise<WalletInfo[]> {
  return (await connection.call('ListWallets', options)).wallets.map(readWalletInfo)
}

/** Obtains the passwords one after another and wipes them all afterwards. */
export async function withPasswords<T>(
  passwords: { [member: string]: Password.Password },
  operation: Operation,
  use: (secrets: { [member: string]: Uint8Array }) => Promise<T>,
): Promise<T> {
  const secrets: { [member: string]: Uint8Array } = {}
  try {
    for (const [member, password] of Object.entries(passwords)) {
      secrets[member] = await Password.obtain(password, operation)
    }
    return await use(secrets)
  } finally {
    for (const bytes of Object.values(secrets)) bytes.fill(0)
  }
}
