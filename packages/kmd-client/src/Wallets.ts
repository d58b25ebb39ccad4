/** The wallets of a daemon, as it lists them: what can be done without unlocking one. */
import { base64 } from './Body.js'
import type { CallOptions, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { Operation } from './Operations.js'
import * as Password from './Password.js'
import * as WalletInfo from './WalletInfo.js'

/** A wallet by its id, or by its name, which is looked up in the list. */
export type Selector = { id: string; name?: undefined } | { name: string; id?: undefined }

export type CreateWalletOptions = CallOptions & {
  /** At most 64 bytes. A blank name becomes the id of the wallet. */
  name: string
  /** Blank for a wallet that anybody with the API token can use. */
  password: Password.Password
  /** 32 bytes: restores the generated keys of another wallet. Random unless given. */
  masterDerivationKey?: Uint8Array | undefined
  /** `sqlite` unless told. */
  driverName?: string | undefined
}

export type SelectOptions = CallOptions &
  Selector & {
    /** The blank password unless given. */
    password?: Password.Password | undefined
  }

const masterKeyLength = 32

export class Wallets {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  list(options: CallOptions = {}): Promise<WalletInfo.WalletInfo[]> {
    return list(this.#connection, options)
  }

  async create(options: CreateWalletOptions): Promise<WalletInfo.WalletInfo> {
    const { name, password, masterDerivationKey, driverName = 'sqlite', ...callOptions } = options
    const operation = 'CreateWallet'
    if (masterDerivationKey !== undefined && masterDerivationKey.length !== masterKeyLength) {
      throw argument(`a master derivation key has ${masterKeyLength} bytes`, operation)
    }
    const members = {
      wallet_name: name,
      wallet_driver_name: driverName,
      master_derivation_key: masterDerivationKey === undefined ? undefined : base64(masterDerivationKey),
    }
    return withPasswords({ wallet_password: password }, operation, async (secrets) => {
      const answer = await this.#connection.call(operation, { ...callOptions, members, secrets })
      return WalletInfo.read(answer.object('wallet'))
    })
  }

  /** Handles of the wallet stay open. */
  async rename({ newName, ...options }: SelectOptions & { newName: string }): Promise<WalletInfo.WalletInfo> {
    const { id, password = '', callOptions } = await this.#select('RenameWallet', options)
    return withPasswords({ wallet_password: password }, 'RenameWallet', async (secrets) => {
      const members = { wallet_id: id, wallet_name: newName }
      const answer = await this.#connection.call('RenameWallet', { ...callOptions, members, secrets })
      return WalletInfo.read(answer.object('wallet'))
    })
  }

  /** Ends every handle of the wallet. Of this daemon only. */
  async changePassword({ newPassword, ...options }: SelectOptions & { newPassword: Password.Password }): Promise<void> {
    const operation = 'ChangeWalletPassword'
    const { id, password = '', callOptions } = await this.#select(operation, options)
    const passwords = { wallet_password: password, new_wallet_password: newPassword }
    await withPasswords(passwords, operation, (secrets) =>
      this.#connection.call(operation, { ...callOptions, members: { wallet_id: id }, secrets }),
    )
  }

  /**
   * Takes a wallet out of the daemon and ends its handles. Its file is kept under the name that is returned: renaming
   * it back undoes this. Of this daemon only.
   */
  async delete(options: SelectOptions): Promise<{ movedTo: string }> {
    const { id, password = '', callOptions } = await this.#select('DeleteWallet', options)
    return withPasswords({ wallet_password: password }, 'DeleteWallet', async (secrets) => {
      const members = { wallet_id: id }
      const answer = await this.#connection.call('DeleteWallet', { ...callOptions, members, secrets })
      return { movedTo: answer.text('moved_to') }
    })
  }

  async #select(operation: Operation, { id, name, password, ...callOptions }: SelectOptions) {
    const walletId = await find(this.#connection, { id, name } as Selector, operation, callOptions)
    return { id: walletId, password, callOptions }
  }
}

/** The id of a wallet. */
export async function find(
  connection: Connection,
  { id, name }: Selector,
  operation: Operation,
  options: CallOptions,
): Promise<string> {
  if (id !== undefined) return id
  if (name === undefined) throw argument('say which wallet: { name } or { id }', operation)
  const [found, another] = (await list(connection, options)).filter((wallet) => wallet.name === name)
  if (found === undefined) throw argument(`there is no wallet named ${JSON.stringify(name)}`, operation)
  if (another !== undefined) throw argument(`several wallets are named ${JSON.stringify(name)}; give an id`, operation)
  return found.id
}

async function list(connection: Connection, options: CallOptions): Promise<WalletInfo.WalletInfo[]> {
  return (await connection.call('ListWallets', options)).objects('wallets').map(WalletInfo.read)
}

/** Asks for each password in turn, and wipes them all. */
async function withPasswords<T>(
  passwords: { [member: string]: Password.Password },
  operation: Operation,
  use: (secrets: { [member: string]: Uint8Array }) => Promise<T>,
): Promise<T> {
  const secrets: { [member: string]: Buffer } = {}
  try {
    for (const [member, password] of Object.entries(passwords)) {
      secrets[member] = await Password.obtain(password, operation)
    }
    return await use(secrets)
  } finally {
    for (const bytes of Object.values(secrets)) bytes.fill(0)
  }
}

function argument(message: string, operation: Operation): KmdClientError {
  return new KmdClientError(message, { operation, reason: 'argument' })
}
