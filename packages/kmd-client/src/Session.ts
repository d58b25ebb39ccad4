/**
 * The handle of an unlocked wallet. It is renewed on use, once half of its life is over, and opened anew when the daemon
 * no longer knows it, if there is a password to do so with. Calls in parallel share one renewal and one opening. No
 * timers: a wallet that nobody uses lets its handle expire.
 */
import type { Answer } from './Answer.js'
import type { Members } from './Body.js'
import type { CallOptions, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { Operation } from './Operations.js'
import * as Password from './Password.js'
import * as WalletInfo from './WalletInfo.js'

export type PasswordOptions = CallOptions & {
  /** For this call, instead of what the wallet was unlocked with. */
  password?: Password.Password | undefined
}

export type OpenOptions = CallOptions & { id: string; password: Password.Password }

type Handle = { token: string; renewAtMs: number; wallet: WalletInfo.WalletInfo }

/** The password of the call under way. One that was given for the call alone may be wrong without it concerning others. */
type AtHand = { bytes: Buffer; isOwn: boolean }

/** Which handle was lost, in doing what, and what the daemon said to it. */
type Loss = { lost: Handle; operation: Operation; message: string }

type Opening = { done: Promise<void>; isOwn: boolean }

export class Session {
  readonly #connection: Connection
  readonly #kept: Password.StoredPassword
  #handle: Handle
  #renewing: Promise<void> | undefined
  #opening: Opening | undefined
  #released = false

  private constructor(connection: Connection, kept: Password.StoredPassword, handle: Handle) {
    this.#connection = connection
    this.#kept = kept
    this.#handle = handle
  }

  static async open(connection: Connection, { id, password, ...options }: OpenOptions): Promise<Session> {
    const bytes = await wait(Password.obtain(password, 'InitWalletHandleToken'), options.signal)
    try {
      const handle = await openHandle(connection, { id, bytes, ...options })
      return new Session(connection, Password.keep(password, bytes), handle)
    } finally {
      bytes.fill(0)
    }
  }

  /** As the daemon last described it. */
  get wallet(): WalletInfo.WalletInfo {
    return this.#handle.wallet
  }

  call(operation: Operation, members: Members, options: CallOptions): Promise<Answer> {
    return this.#call(operation, members, options, undefined)
  }

  /** Fails before anything is sent when there is no password. */
  callWithPassword(operation: Operation, members: Members, options: PasswordOptions): Promise<Answer> {
    return this.#withPassword(operation, options, (atHand) => this.#call(operation, members, options, atHand))
  }

  async rename(name: string, options: PasswordOptions): Promise<WalletInfo.WalletInfo> {
    const operation = 'RenameWallet'
    return this.#withPassword(operation, options, async ({ bytes }) => {
      const members = { wallet_id: this.wallet.id, wallet_name: name }
      const answer = await this.#connection.call(operation, {
        ...options,
        members,
        secrets: { wallet_password: bytes },
      })
      this.#handle.wallet = WalletInfo.read(answer.object('wallet'))
      return this.wallet
    })
  }

  /** A handle that the daemon does not know, or whose daemon is no more, is released already. */
  async release(options: CallOptions): Promise<void> {
    if (this.#released) return
    this.#released = true
    await this.#opening?.done.catch(() => {})
    await releaseHandle(this.#connection, this.#handle.token, options)
  }

  async #withPassword<T>(
    operation: Operation,
    { password, signal }: PasswordOptions,
    use: (atHand: AtHand) => Promise<T>,
  ): Promise<T> {
    this.#checkOpen(operation)
    const isOwn = password !== undefined
    const obtained = isOwn ? Password.obtain(password, operation) : Password.recall(this.#kept, operation)
    const bytes = await wait(obtained, signal)
    if (bytes === undefined) {
      const message =
        `${operation} needs the password of the wallet, which is not kept: ` +
        'pass { password } with the call, or give unlock a function that returns it'
      throw new KmdClientError(message, { operation, reason: 'password' })
    }
    try {
      return await use({ bytes, isOwn })
    } finally {
      bytes.fill(0)
    }
  }

  async #call(
    operation: Operation,
    members: Members,
    options: CallOptions,
    atHand: AtHand | undefined,
  ): Promise<Answer> {
    for (let isSecond = false; ; isSecond = true) {
      this.#checkOpen(operation)
      const handle = this.#handle
      try {
        if (performance.now() >= handle.renewAtMs) await wait(this.#renew(handle), options.signal)
        return await this.#connection.call(operation, {
          ...options,
          members: { wallet_handle_token: handle.token, ...members },
          secrets: { wallet_password: atHand?.bytes },
        })
      } catch (error) {
        // A handle is looked at before anything is done, so that the call can be repeated.
        if (isSecond || !isLost(error)) throw error
        await this.#reopen({ lost: handle, operation, message: error.message }, atHand, options.signal)
      }
    }
  }

  /** Not bound to the signal of the call that happens to be first: others wait for it too. */
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

  async #reopen(loss: Loss, atHand: AtHand | undefined, signal: AbortSignal | undefined): Promise<void> {
    while (this.#handle === loss.lost) {
      this.#checkOpen(loss.operation)
      const joined = this.#opening
      if (joined === undefined) {
        await wait(this.#startOpening(loss, atHand).done, signal)
        return
      }
      await wait(joined.done, signal).catch((error: unknown) => {
        // Opened with a password that was given for another call: it says nothing of ours.
        if (!joined.isOwn || signal?.aborted) throw error
      })
    }
  }

  #startOpening(loss: Loss, atHand: AtHand | undefined): Opening {
    const open = async (): Promise<void> => {
      // A copy, because the call wipes its own when it is given up.
      const bytes = atHand ? Buffer.from(atHand.bytes) : await Password.recall(this.#kept, loss.operation)
      if (bytes === undefined) throw cannotReopen(loss)
      try {
        this.#handle = await openHandle(this.#connection, { id: this.wallet.id, bytes })
      } finally {
        bytes.fill(0)
      }
    }
    const done = open().finally(() => {
      this.#opening = undefined
    })
    // Those who wait for it see it fail; nobody may be left when it does.
    done.catch(() => {})
    this.#opening = { done, isOwn: atHand?.isOwn ?? false }
    return this.#opening
  }

  #checkOpen(operation: string): void {
    if (!this.#released) return
    throw new KmdClientError('this wallet was released; unlock it again', { operation, reason: 'locked' })
  }
}

/** Renewing at once tells how long the handle lives, and which wallet it is for. */
async function openHandle(
  connection: Connection,
  { id, bytes, ...options }: CallOptions & { id: string; bytes: Buffer },
): Promise<Handle> {
  const members = { wallet_id: id }
  const secrets = { wallet_password: bytes }
  const answer = await connection.call('InitWalletHandleToken', { ...options, members, secrets })
  const token = answer.text('wallet_handle_token')
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
  const answer = await connection.call('RenewWalletHandleToken', { ...options, members })
  const handle = answer.object('wallet_handle')
  const lifeMs = handle.integer('expires_seconds') * 1000
  return { renewAtMs: sentAtMs + lifeMs / 2, wallet: WalletInfo.read(handle.object('wallet')) }
}

async function releaseHandle(connection: Connection, token: string, options: CallOptions): Promise<void> {
  try {
    await connection.call('ReleaseWalletHandleToken', { ...options, members: { wallet_handle_token: token } })
  } catch (error) {
    if (isLost(error) || (error instanceof KmdClientError && error.reason === 'connection')) return
    throw error
  }
}

function isLost(error: unknown): error is KmdClientError {
  if (!(error instanceof KmdClientError) || error.status !== 401) return false
  return error.message === 'handle expired' || error.message === 'handle does not exist'
}

function cannotReopen({ message, operation }: Loss): KmdClientError {
  const advice = 'unlock the wallet again, or give unlock a function that returns the password'
  return new KmdClientError(`${message}; ${advice}`, { operation, reason: 'locked', status: 401 })
}

/** A promise that others share is not given up; only waiting for it is. */
function wait<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
