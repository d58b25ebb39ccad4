/**
 * The accounts that pay the fees of buyers. An account that is empty, rekeyed or without its key does not stop the
 * others.
 */
import { Address, Hash, Transaction } from '@latchkey/algorand'
import { KmdClientError } from '@latchkey/kmd-client'
import type { PaymentGroup, SupportedResponse } from '@latchkey/x402-wire'
import { type Chain, isAddress, type NetworkIds } from '../../chain/Chain.js'
import { errors, OptionsError } from '../../errors.js'
import * as Signer from '../../signer/Signer.js'
import { SignerError } from '../../signer/Signer.js'
import { PaymentError } from '../PaymentError.js'

/** Each account is looked up by every health check. */
const maxFeePayers = 32
/** How long a problem counts. After that, nothing is known about an account that was not checked again. */
const problemMs = 30_000

export type FeePayersOptions = {
  readonly onError: (error: unknown) => void
  /** @default performance.now */
  readonly nowMs?: (() => number) | undefined
}

/** One fee account. Problems are learned from checks, and from payments that failed because of the account. */
export class FeePayer {
  readonly address: string
  readonly signer: FeeSigner
  readonly #nowMs: () => number
  /** Keyed by network. */
  readonly #problems = new Map<string, { readonly text: string; readonly untilMs: number }>()

  constructor(signer: Signer.Signer, { onError, nowMs = () => performance.now() }: FeePayersOptions) {
    this.address = addressOf(signer)
    this.signer = new FeeSigner(signer, { onError, nowMs })
    this.#nowMs = nowMs
  }

  /** The key that signs for the account. */
  get authorizer(): string {
    return this.signer.signer.address
  }

  /** Records a problem with the balance or authorizer on a network; undefined if there is none. */
  report(network: string, problem: string | undefined): void {
    if (problem === undefined) this.#problems.delete(network)
    else this.#problems.set(network, { text: problem, untilMs: this.#nowMs() + problemMs })
  }

  /**
   * The known reason why the account cannot pay on a network; undefined if there is none. Does not wait for a check.
   */
  problem(network: string): string | undefined {
    const { text, untilMs } = this.#problems.get(network) ?? { text: undefined, untilMs: 0 }
    return this.signer.lastProblem() ?? (this.#nowMs() < untilMs ? text : undefined)
  }
}

export class FeePayers {
  /** In order of preference. */
  readonly all: readonly FeePayer[]
  /** Includes accounts that cannot pay now, because a buyer may hold an older requirement. */
  readonly addresses: ReadonlySet<string>
  readonly #byAddress: ReadonlyMap<string, FeePayer>

  /** @throws OptionsError for a signer without an address, and for two signers of one account */
  constructor(signers: Signer.Signer | readonly Signer.Signer[] | undefined, options: FeePayersOptions) {
    this.all = listOf(signers).map((signer) => new FeePayer(signer, options))
    this.#byAddress = new Map(this.all.map((payer) => [payer.address, payer]))
    this.addresses = new Set(this.#byAddress.keys())
    if (this.addresses.size !== this.all.length) {
      throw new OptionsError('feePayer contains the same account twice', 'Pass one signer for each account.')
    }
    if (this.all.length > maxFeePayers) {
      throw new OptionsError(`feePayer has more than ${maxFeePayers} signers`, 'Pass fewer accounts.')
    }
  }

  /**
   * The accounts that can pay on a network, in the given order; all accounts if none can. The order is the same for
   * every caller, because published sellers compare the account that they offered with the first one in a later
   * response.
   */
  working(network: string): readonly FeePayer[] {
    const working = this.all.filter((payer) => payer.problem(network) === undefined)
    return working.length === 0 ? this.all : working
  }

  get(address: string): FeePayer | undefined {
    return this.#byAddress.get(address)
  }

  /**
   * Refuses a payment whose fee cannot be signed for now, before its seller does any work.
   *
   * @throws PaymentError
   */
  checkKey(address: string): void {
    if (this.#byAddress.get(address)?.signer.lastProblem() !== undefined) throw keyUnavailable()
  }

  /**
   * Signs the fee transaction with the key of its sender.
   *
   * @throws PaymentError if the key cannot sign now; the signer's error goes to `onError`
   */
  async sign({ transactionBytes, sender }: PaymentGroup.Member, onError: (error: unknown) => void) {
    try {
      // A key signs only what a signer reads, which is less than what a node reads.
      const canonical = Transaction.canonicalize(transactionBytes)
      return await this.#byAddress.get(sender)!.signer.sign(canonical)
    } catch (error) {
      onError(error)
      throw keyUnavailable()
    }
  }
}

/**
 * The fault of a fee account that a node names as the reason for a rejection: the account cannot pay, or is rekeyed.
 * Undefined if the reason is another one.
 */
export function feeAccountFault(
  reason: string,
  { address, authorizer }: Pick<FeePayer, 'address' | 'authorizer'>,
): 'unfunded' | 'rekeyed' | undefined {
  const isUnfunded = [`overspend (account ${address},`, `account ${address} balance `].some((text) =>
    reason.includes(text),
  )
  if (isUnfunded) return 'unfunded'
  return reason.includes(`was actually authorized by ${authorizer}`) ? 'rekeyed' : undefined
}

export function feeAccountUnfunded(): PaymentError {
  const message = "the facilitator cannot pay the fee now; this is not the buyer's fault"
  return new PaymentError('facilitator_fee_account_unfunded', message)
}

export function keyUnavailable(): PaymentError {
  const message = "the facilitator cannot sign for the fee now; this is not the buyer's fault"
  return new PaymentError('facilitator_key_unavailable', message)
}

export function rekeyedText(address: string): string {
  return `the fee account ${address} is authorized by a different key from the one that signs for it`
}

function listOf(signers: Signer.Signer | readonly Signer.Signer[] | undefined): readonly Signer.Signer[] {
  if (signers === undefined) return []
  return Array.isArray(signers) ? signers : [signers as Signer.Signer]
}

function addressOf({ address, sender = address }: Signer.Signer): string {
  if (isAddress(address) && isAddress(sender)) return sender
  throw new OptionsError('feePayer has no valid address', errors.invalid_signer_address.hint)
}

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

/**
 * The kinds of payments on one network, for the response of GET /supported.
 *
 * @param payers the addresses that pay fees, those that can pay first
 */
export function supportedKinds(
  chain: Pick<Chain, 'ids' | 'caip2'>,
  payers: readonly string[],
  networkIds: NetworkIds,
): SupportedResponse['kinds'] {
  const extras = payers.length === 0 ? [{}] : payers.map((address) => ({ extra: { feePayer: address } }))
  // Only the named account can send a group of the scheme `upto`.
  const schemes = payers.length === 0 ? ['exact'] : ['exact', 'upto']
  // Listed under both ids: published sellers look up the id that they know, and use its first kind.
  const ids = networkIds === 'canonical' ? [chain.caip2] : chain.ids
  return schemes.flatMap((scheme) =>
    extras.flatMap((extra) =>
      ids.map((id) => ({ x402Version: 2, scheme, network: id as `${string}:${string}`, ...extra })),
    ),
  )
}
