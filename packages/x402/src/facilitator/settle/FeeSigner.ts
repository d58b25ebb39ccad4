import { Address, Hash, type Transaction } from '@latchkey/algorand'
import { KmdClientError } from '@latchkey/kmd-client'
import * as Signer from '../../signer/Signer.js'
import { SignerError } from '../../signer/Signer.js'

/** How long a successful check or signature is trusted. An operator must learn of a lost key within half a minute. */
const freshMs = 10_000
/**
 * The daemon counts wrong passwords, and delays the owner of the wallet by up to five minutes after each. The pause
 * after a refusal therefore doubles.
 */
const refusedMs = 60_000
const maxRefusedMs = 3_600_000
/** Enough for a daemon to derive a key from the password. A longer check is a fault. */
const defaultPatienceMs = 5_000
/** A signature may be queued behind others. The callers of a payment wait for half a minute. */
const defaultSignMs = 10_000

/** Options of a {@link FeeSigner}. */
export type FeeSignerOptions = {
  readonly onError: (error: unknown) => void
  /** @default performance.now */
  readonly nowMs?: (() => number) | undefined
  /** How long a check may take before it is reported. @default 5_000 */
  readonly patienceMs?: number | undefined
  /** How long a signature may take before it fails. @default 10_000 */
  readonly signMs?: number | undefined
}

type Outcome = {
  readonly untilMs: number
  readonly problem: string | undefined
  /** The error with which the daemon refused the password. */
  readonly refusal?: unknown
}

/** The signer of a fee account. Tracks from checks and signatures whether it can sign. */
export class FeeSigner {
  readonly signer: Signer.Signer
  readonly #onError: (error: unknown) => void
  readonly #nowMs: () => number
  readonly #patienceMs: number
  readonly #signMs: number
  #outcome: Outcome | undefined
  #checking: Promise<void> | undefined
  #pauseMs = refusedMs

  constructor(signer: Signer.Signer, options: FeeSignerOptions) {
    this.signer = signer
    this.#onError = options.onError
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#patienceMs = options.patienceMs ?? defaultPatienceMs
    this.#signMs = options.signMs ?? defaultSignMs
  }

  /**
   * Signs, and remembers whether that worked. A refused password is not retried with every payment, because buyers
   * could lock the owner out.
   *
   * @throws what the signer throws
   * @throws SignerError if signing takes too long
   */
  async sign(transaction: Transaction.Canonical): Promise<Uint8Array> {
    const { refusal, untilMs } = this.#outcome ?? { untilMs: 0 }
    if (refusal !== undefined && this.#nowMs() < untilMs) throw refusal
    try {
      const signing = Signer.signCanonical(this.signer, transaction)
      if (await isLongerThan(this.#signMs, signing)) throw new SignerError('signer_timeout', noAnswer)
      const signed = await signing
      this.#remember(undefined)
      return signed
    } catch (error) {
      this.#remember(error)
      throw error
    }
  }

  /**
   * Checks that the signer can sign, with its own check or with a transaction that no ledger accepts.
   *
   * @throws what the signer throws
   */
  async check(): Promise<void> {
    // Reports a hanging check before it ends, even if the check is not awaited.
    const late = setTimeout(() => this.#isLate(), this.#patienceMs)
    try {
      if (this.signer.check !== undefined) await this.signer.check()
      else await Signer.signTransaction(this.signer, trialTransaction(this.signer))
      this.#remember(undefined)
    } catch (error) {
      this.#remember(error)
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  /** The public reason why the account cannot sign; undefined if it can. Checks only if the last outcome is old. */
  async problem(): Promise<string | undefined> {
    if (this.#outcome === undefined || this.#nowMs() >= this.#outcome.untilMs) {
      this.#checking ??= this.check()
        .catch((error) => this.#onError(error))
        .finally(() => {
          this.#checking = undefined
        })
      if (await isLongerThan(this.#patienceMs, this.#checking)) this.#isLate()
    }
    return this.#outcome?.problem
  }

  /** The last known problem, without waiting for a check. An old problem is checked again in the background. */
  lastProblem(): string | undefined {
    const { problem, untilMs } = this.#outcome ?? { problem: undefined, untilMs: 0 }
    if (problem !== undefined && this.#nowMs() >= untilMs) void this.problem()
    return problem
  }

  #isLate(): void {
    this.#outcome = { untilMs: 0, problem: noAnswer }
  }

  #remember(error: unknown): void {
    const isRefused = isPasswordRefused(error)
    const isLate = error instanceof SignerError && error.code === 'signer_timeout'
    const problem = error === undefined ? undefined : isRefused ? refused : isLate ? noAnswer : unable
    const untilMs = this.#nowMs() + (isRefused ? this.#pauseMs : freshMs)
    this.#pauseMs = isRefused ? Math.min(2 * this.#pauseMs, maxRefusedMs) : refusedMs
    this.#outcome = { untilMs, problem, refusal: isRefused ? error : undefined }
  }
}

/** Public texts. The signer's own errors are for the operator only and go to `onError`. */
const unable = 'the fee account cannot sign: its key daemon does not respond, or does not have the key'
const refused = 'the fee account cannot sign: its key daemon rejects the password'
const noAnswer = 'the fee account cannot sign: its key daemon takes too long to respond'

const refusals: ReadonlySet<string> = new Set(['wrong_password', 'too_many_wrong_passwords'])
const maxCauses = 8

/** A signer may wrap the daemon's error in another error, as the command line does. */
function isPasswordRefused(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < maxCauses && cause instanceof Error; depth++) {
    if (cause instanceof KmdClientError && refusals.has(cause.code)) return true
    cause = cause.cause
  }
  return false
}

/** Valid in the first round of a network that does not exist, so that a copy of the signed bytes is worthless. */
function trialTransaction(signer: Signer.Signer): Transaction.Transaction {
  const sender = Address.decode(Signer.checkSender(signer))
  const gh = Hash.sha512_256(new TextEncoder().encode('Latchkey: check of a signer'))
  return { type: 'pay', snd: sender, rcv: sender, fee: 1_000n, lv: 1n, gh }
}

/** Whether the work takes longer than the time limit. Throws the error of work that fails in time. */
export async function isLongerThan(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), ms)
  })
  try {
    return await Promise.race([work.then(() => false), late])
  } finally {
    // The result is no longer awaited.
    work.catch(() => {})
    clearTimeout(timer)
  }
}
