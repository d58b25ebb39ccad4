/**
 * Manages the handle of an unlocked wallet. A call renews the handle once half of its lifetime is over, and reopens it
 * if the daemon no longer knows it and a password is known. Concurrent calls share one renewal and one reopening. There
 * are no timers: the handle of an unused wallet expires.
 */
import type { CallOptions, CallRequest, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { Operation, ResponseTo } from './operations.js'
import * as Password from './Password.js'
import type { Members } from './RequestBody.js'

/** Options of calls that need the wallet's password. */
export type PasswordOptions = CallOptions & {
  /**
   * The password for this call.
   *
   * @default the password that unlocked the wallet, if it was a function or blank
   */
  password?: Password.Password | undefined
}

export type OpenOptions = CallOptions & { id: string; password: Password.Password }

type Handle = { token: string; renewAtMs: number; wallet: WalletInfo }

/** The password of the current call. A wrong password passed to one call does not affect other calls. */
type CallPassword = { bytes: Uint8Array; isForThisCall: boolean }

/** A handle that the daemon no longer knows, and the call that discovered it. */
type LostHandle = { handle: Handle; operation: Operation; message: string }

type Opening = { done: Promise<void>; isForOneCall: boolean }

export class Session {
  readonly #connection: Connection
  readonly #password: Password.StoredPassword
  #handle: Handle
  #renewing: Promise<void> | undefined
  #opening: Opening | undefined
  #isReleased = false

  private constructor(connection: Connection, password: Password.StoredPassword, handle: Handle) {
    this.#connection = connection
    this.#password = password
    this.#handle = handle
  }

  static async open(connection: Connection, { id, password, ...options }: OpenOptions): Promise<Session> {
    const bytes = await abortable(Password.obtain(password, 'InitWalletHandleToken'), options.signal)
    try {
      const handle = await openHandle(connection, { id, bytes, ...options })
      return new Session(connection, Password.store(password, bytes), handle)
    } finally {
      bytes.fill(0)
    }
  }

  /** The wallet as last described by the daemon. */
  get wallet(): WalletInfo {
    return this.#handle.wallet
  }

  call<Id extends Operation>(operation: Id, members: Members, options: CallOptions): Promise<ResponseTo<Id>> {
    return this.#call(operation, members, options, undefined)
  }

  /** Rejects before sending anything if no password is known. */
  callWithPassword<Id extends Operation>(
    operation: Id,
    members: Members,
    options: PasswordOptions,
  ): Promise<ResponseTo<Id>> {
    return this.#withPassword(operation, options, (password) => this.#call(operation, members, options, password))
  }

  async rename(name: string, options: PasswordOptions): Promise<WalletInfo> {
    const operation = 'RenameWallet'
    return this.#withPassword(operation, options, async ({ bytes }) => {
      const members = { wallet_id: this.wallet.id, wallet_name: name }
      const secrets = { wallet_password: bytes }
      const response = await this.#connection.call(operation, { ...options, members, secrets })
      this.#handle.wallet = readWalletInfo(response.wallet)
      return this.wallet
    })
  }

  /** Succeeds if the daemon does not know the handle or is not running. */
  async release(options: CallOptions): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    await this.#opening?.done.catch(() => {})
    await releaseHandle(this.#connection, this.#handle.token, options)
  }

  async #withPassword<T>(
    operation: Operation,
    { password, signal }: PasswordOptions,
    use: (password: CallPassword) => Promise<T>,
  ): Promise<T> {
    this.#checkNotReleased(operation)
    const isForThisCall = password !== undefined
    const obtained = isForThisCall ? Password.obtain(password, operation) : Password.recall(this.#password, operation)
    const bytes = await abortable(obtained, signal)
    if (bytes === undefined) {
      const message =
        `${operation} needs the wallet's password, which is not kept: ` +
        'pass { password } with the call, or give unlock a function that returns it'
      throw new KmdClientError('password_required', message, { operation })
    }
    try {
      return await use({ bytes, isForThisCall })
    } finally {
      bytes.fill(0)
    }
  }

  async #call<Id extends Operation>(
    operation: Id,
    members: Members,
    options: CallOptions,
    password: CallPassword | undefined,
  ): Promise<ResponseTo<Id>> {
    for (let isSecond = false; ; isSecond = true) {
      this.#checkNotReleased(operation)
      const handle = this.#handle
      try {
        if (performance.now() >= handle.renewAtMs) await abortable(this.#renew(handle), options.signal)
        return await this.#connection.call(operation, {
          ...options,
          members: { wallet_handle_token: handle.token, ...members },
          secrets: { wallet_password: password?.bytes },
        } as CallRequest<Id>)
      } catch (error) {
        // The daemon checks the handle first, so the call can be repeated.
        if (isSecond || !isHandleLost(error)) throw error
        await this.#reopen({ handle, operation, message: error.message }, password, options.signal)
      }
    }
  }

  /** Ignores the abort signal of the call that starts the renewal, because other calls wait for it too. */
  #renew(handle: Handle): Promise<void> {
    this.#renewing ??= renewHandle(this.#connection, handle.token)
      .then((renewed) => {
        Object.assign(handle, renewed)
      })
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  async #reopen(lost: LostHandle, password: CallPassword | undefined, signal: AbortSignal | undefined): Promise<void> {
    while (this.#handle === lost.handle) {
      this.#checkNotReleased(lost.operation)
      const joined = this.#opening
      if (joined === undefined) {
        await abortable(this.#startOpening(lost, password).done, signal)
        return
      }
      await abortable(joined.done, signal).catch((error: unknown) => {
        // The failed password belonged to another call; this call's password may still work.
        if (!joined.isForOneCall || signal?.aborted) throw error
      })
    }
  }

  #startOpening(lost: LostHandle, password: CallPassword | undefined): Opening {
    const open = async (): Promise<void> => {
      // A copy, because an aborted call wipes its own bytes.
      const bytes = password ? new Uint8Array(password.bytes) : await Password.recall(this.#password, lost.operation)
      if (bytes === undefined) throw cannotReopen(lost)
      try {
        this.#handle = await openHandle(this.#connection, { id: this.wallet.id, bytes })
      } finally {
        bytes.fill(0)
      }
    }
    const done = open().finally(() => {
      this.#opening = undefined
    })
    // Every waiting call may have been aborted by the time this fails.
    done.catch(() => {})
    this.#opening = { done, isForOneCall: password?.isForThisCall ?? false }
    return this.#opening
  }

  #checkNotReleased(operation: string): void {
    if (!this.#isReleased) return
    throw new KmdClientError('wallet_released', 'this wallet was released; unlock it again', { operation })
  }
}

/** Renews the handle immediately, because the response has the handle's lifetime and describes the wallet. */
async function openHandle(
  connection: Connection,
  { id, bytes, ...options }: CallOptions & { id: string; bytes: Uint8Array },
): Promise<Handle> {
  const members = { wallet_id: id }
  const secrets = { wallet_password: bytes }
  const response = await connection.call('InitWalletHandleToken', { ...options, members, secrets })
  const token = response.walletHandleToken
  try {
    return { token, ...(await renewHandle(connection, token, options)) }
  } catch (error) {
    await releaseHandle(connection, token, {}).catch(() => {})
    throw error
  }
}

async function renewHandle(connection: Connection, token: string, options: CallOptions = {}) {
  const sentAtMs = performance.now()
  const members = { wallet_handle_token: token }
  const response = await connection.call('RenewWalletHandleToken', { ...options, members })
  const { expiresSeconds, wallet } = response.walletHandle
  return { renewAtMs: sentAtMs + (expiresSeconds * 1000) / 2, wallet: readWalletInfo(wallet) }
}

async function releaseHandle(connection: Connection, token: string, options: CallOptions): Promise<void> {
  try {
    await connection.call('ReleaseWalletHandleToken', { ...options, members: { wallet_handle_token: token } })
  } catch (error) {
    if (!isHandleLost(error) && !isUnreachable(error)) throw error
  }
}

function isHandleLost(error: unknown): error is KmdClientError {
  return error instanceof KmdClientError && (error.code === 'handle_expired' || error.code === 'handle_unknown')
}

const unreachableCodes: ReadonlySet<string> = new Set(['daemon_not_running', 'foreign_listener', 'connection_lost'])

function isUnreachable(error: unknown): boolean {
  return error instanceof KmdClientError && unreachableCodes.has(error.code)
}

function cannotReopen({ message, operation }: LostHandle): KmdClientError {
  const advice = 'unlock the wallet again, or give unlock a function that returns the password'
  return new KmdClientError('wallet_locked', `${message}; ${advice}`, { operation, status: 401 })
}

/** Stops waiting when the signal fires, without ending work that other calls share. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** A wallet as the daemon describes it. */
export type WalletInfo = {
  id: string
  name: string
  driverName: string
  driverVersion: number
  mnemonicUx: boolean
  /** The transaction types that the daemon lists. The daemon signs every type, including unlisted ones. */
  supportedTransactions: string[]
}

export function readWalletInfo({ supportedTxs, ...wallet }: ResponseTo<'CreateWallet'>['wallet']): WalletInfo {
  return { ...wallet, supportedTransactions: supportedTxs }
}
