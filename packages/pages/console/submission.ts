/**
 * Sends signed transactions and follows them until their outcome is certain. The bytes never change, so sending them
 * twice has no further effect. An unknown outcome is looked up.
 */
import { Bytes, SignedTransaction, Transaction } from '@latchkey/algorand'
import { submitOperations } from '@latchkey/kmd-api/operations'
import type { Daemon } from './daemon.js'
import { DaemonError, hasCode } from './errors.js'
import { errorMessage } from './messages.js'
import type { Outcome, Submitted } from './responseTypes.js'

export type SubmissionState =
  | { status: 'ready' }
  | { status: 'sending' }
  /** Sent or possibly sent, until the network confirms it or it expires. */
  | { status: 'waiting'; isKnown: boolean; note: string }
  | { status: 'confirmed'; round: number }
  | { status: 'refused'; text: string; reason: string }
  | { status: 'not-sent'; text: string }
  | { status: 'expired' }

/** Browsers allow 64 KiB, which must also hold the base64 overhead and the rest of the body. */
const maxKeepaliveBytes = 40_000

/** By the signed transactions, so that a reopened view continues and sends nothing a second time. */
const submissions = new WeakMap<readonly Uint8Array[], Submission>()

export class Submission {
  state: SubmissionState = { status: 'ready' }
  readonly transactionId: string
  readonly firstValid: number
  readonly lastValid: number
  /** The genesis hash of each transaction in base64; empty if it names none. */
  readonly genesisHashes: readonly string[]
  readonly #daemon: Daemon
  readonly #bytes: Uint8Array
  readonly #listeners = new Set<() => void>()

  constructor(daemon: Daemon, signed: readonly Uint8Array[]) {
    const transactions = signed.map((one) => SignedTransaction.decode(one).txn)
    const txn = transactions[0]!
    this.#daemon = daemon
    this.#bytes = Bytes.concat(signed)
    this.transactionId = Transaction.id(txn)
    this.firstValid = Number(txn.fv ?? 0n)
    this.lastValid = Number(txn.lv ?? 0n)
    this.genesisHashes = transactions.map(({ gh }) => (gh === undefined ? '' : Bytes.toBase64(gh)))
  }

  static of(daemon: Daemon, signed: readonly Uint8Array[]): Submission {
    const submission = submissions.get(signed) ?? new Submission(daemon, signed)
    submissions.set(signed, submission)
    return submission
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Sends the transactions. Does nothing while they are in flight, or after the outcome is certain. */
  async submit(): Promise<void> {
    const { state } = this
    const isAgain = state.status === 'waiting' && !state.isKnown
    if (state.status !== 'ready' && state.status !== 'not-sent' && state.status !== 'refused' && !isAgain) return
    this.#set({ status: 'sending' })
    try {
      // Works while the page unloads too, but browsers limit the size of a request that outlives its page.
      const options = { keepalive: this.#bytes.length < maxKeepaliveBytes }
      const request = { transaction: this.#bytes }
      this.#set(afterSubmission(await this.#daemon.call(submitOperations.SubmitTransaction, request, options)))
    } catch (error) {
      this.#set(afterFailure(error))
    }
  }

  /** Looks up the transaction if its outcome is open. */
  async check(): Promise<void> {
    if (this.state.status !== 'waiting') return
    const request = { transaction_id: this.transactionId, first_valid: this.firstValid, last_valid: this.lastValid }
    const outcome = await this.#daemon.call(submitOperations.GetTransactionOutcome, request)
    if (this.state.status === 'waiting') this.#set(afterOutcome(outcome))
  }

  #set(state: SubmissionState): void {
    this.state = state
    for (const listener of this.#listeners) listener()
  }
}

function afterSubmission({ state, round, reason, explanation }: Submitted): SubmissionState {
  if (state === 'confirmed') return { status: 'confirmed', round }
  if (state === 'refused') return { status: 'refused', text: explanation, reason }
  if (state === 'not_sent') return { status: 'not-sent', text: explanation }
  return { status: 'waiting', isKnown: state === 'sent', note: explanation }
}

/** If the daemon rejects a request, nothing was sent. After any other failure the transaction may have been sent. */
function afterFailure(error: unknown): SubmissionState {
  const isRejected = error instanceof DaemonError && error.status < 500
  if (isRejected || hasCode(error, 'no_node', 'session_ended')) {
    return { status: 'not-sent', text: errorMessage(error) ?? 'The session has ended.' }
  }
  return { status: 'waiting', isKnown: false, note: errorMessage(error) ?? '' }
}

function afterOutcome({ state, round, explanation }: Outcome): SubmissionState {
  if (state === 'confirmed') return { status: 'confirmed', round }
  if (state === 'expired') return { status: 'expired' }
  return { status: 'waiting', isKnown: state === 'pending', note: explanation }
}
