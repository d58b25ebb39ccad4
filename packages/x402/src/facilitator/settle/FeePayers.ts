/**
 * The accounts that pay the fees of buyers. An account that is empty, rekeyed or without its key does not stop the
 * others.
 */
import { Transaction } from '@latchkey/algorand'
import type { PaymentGroup } from '@latchkey/x402-wire'
import { isAddress } from '../../chain/Chain.js'
import { errors, OptionsError } from '../../errors.js'
import type * as Signer from '../../signer/Signer.js'
import { PaymentError } from '../PaymentError.js'
import { FeeSigner } from './FeeSigner.js'

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
