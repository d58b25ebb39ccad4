/** Verifies payments and settles them on the ledger, for sellers. */
import { AlgodError } from '@latchkey/algod'
import { Address, BoundedMap, Bytes, Hash, Submission } from '@latchkey/algorand'
import { type Chain, ChainError, chainList, isAddress } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
import { errors, OptionsError } from '../errors.js'
import * as Signer from '../signer/Signer.js'
import { MemorySettlements, type Settlement, type SettlementStore } from '../store/Settlements.js'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../wire/types.js'
import { Metrics } from './Metrics.js'
import { PaymentError, type PaymentErrorCode } from './PaymentError.js'
import { type Caller, Policy, type PolicyOptions } from './Policy.js'
import { Settler } from './Settler.js'
import { simulationError } from './simulationError.js'
import { type VerifiedPayment, verifyPayment } from './verifyPayment.js'

/** Options of a {@link Facilitator}. */
export type FacilitatorOptions = {
  /** One for each network that is served. */
  chains: readonly Chain[]
  /**
   * The account that pays the fees of buyers.
   *
   * @default buyers pay their own fees
   */
  feePayer?: Signer.Signer | undefined
  /**
   * Where settlements are recorded, shared by all replicas.
   *
   * @default new MemorySettlements()
   */
  store?: SettlementStore | undefined
  /**
   * For whom it works, and how much it spends.
   *
   * @default no restriction
   */
  policy?: PolicyOptions | undefined
  /**
   * The highest fee that is paid for each transaction of a group.
   *
   * @default 5_000n
   */
  maxFeeMicroAlgosPerTransaction?: bigint | undefined
  /**
   * The longest validity of a payment.
   *
   * @default 1_000n
   */
  maxValidityRounds?: bigint | undefined
  /**
   * How long `settle` waits for the ledger; after that its result is `settlement_pending`.
   *
   * @default 30_000
   */
  settleTimeoutMs?: number | undefined
  /**
   * The first wait between two lookups of a settlement.
   *
   * @default 250
   */
  pollMs?: number | undefined
  /**
   * How long settlements are kept after they ended.
   *
   * @default 7 days
   */
  keepMs?: number | undefined
  /**
   * Called with errors that are not the buyer's fault.
   *
   * @default they are ignored
   */
  onError?: ((error: unknown) => void) | undefined
}

const defaults = {
  maxFeeMicroAlgosPerTransaction: 5_000n,
  maxValidityRounds: 1_000n,
  settleTimeoutMs: 30_000,
  pollMs: 250,
  keepMs: 7 * 24 * 60 * 60 * 1000,
}
/** A payment that was verified is not simulated again for this long. */
const verifiedMs = 30_000
const maxVerified = 10_000
/** A health check this recent is reused: anyone may request one, and it costs requests to a node. */
const healthMs = 1_000

/**
 * Verifies and settles payments. A payment is submitted once, and every call for it gets the same result.
 *
 * @example
 * const facilitator = new Facilitator({ chains: [chain], feePayer, store: new SqliteSettlements('settlements.db') })
 * await facilitator.resume()
 * const handler = createFacilitatorHandler({ facilitator })
 */
export class Facilitator {
  /** Counters and gauges, as `text()` for Prometheus. */
  readonly metrics = new Metrics()
  /** For whom it works. */
  readonly policy: Policy
  readonly #chains: readonly Chain[]
  readonly #feePayer: Signer.Signer | undefined
  readonly #feePayers: ReadonlySet<string>
  readonly #options: typeof defaults
  readonly #settler: Settler
  readonly #onError: (error: unknown) => void
  /** When a verification expires, by payment. */
  readonly #verified = new BoundedMap<string, number>(maxVerified)
  readonly #starting = new Map<string, Promise<Settlement>>()
  #health: { checkedMs: number; problem: Promise<string | undefined> } | undefined

  /** @throws OptionsError without a chain, or for a fee payer without an address */
  constructor(options: FacilitatorOptions) {
    const { feePayer, store = new MemorySettlements(), policy } = options
    const chains = chainList(options.chains)
    this.#chains = chains
    this.#feePayer = feePayer
    this.#feePayers = new Set(feePayer === undefined ? [] : [payerAddress(feePayer)])
    this.#options = {
      maxFeeMicroAlgosPerTransaction: options.maxFeeMicroAlgosPerTransaction ?? defaults.maxFeeMicroAlgosPerTransaction,
      maxValidityRounds: options.maxValidityRounds ?? defaults.maxValidityRounds,
      settleTimeoutMs: options.settleTimeoutMs ?? defaults.settleTimeoutMs,
      pollMs: options.pollMs ?? defaults.pollMs,
      keepMs: options.keepMs ?? defaults.keepMs,
    }
    const onError = silenced(options.onError)
    this.#onError = onError
    this.policy = new Policy(policy)
    this.#settler = new Settler({ store, chains, onError, metrics: this.metrics, ...this.#options })
  }

  /** Continues settlements that were pending when an earlier process ended. Call it once, before serving. */
  resume(): Promise<number> {
    return this.#settler.resume()
  }

  /** What it serves: the response of GET /supported. */
  supported(): SupportedResponse {
    const [feePayer] = this.#feePayers
    const extra = feePayer === undefined ? {} : { extra: { feePayer } }
    // By both ids: published sellers look up the one that they know, and compare the strings.
    const ids = this.#chains.flatMap((chain) => chain.ids) as `${string}:${string}`[]
    const kinds = ids.map((network) => ({ x402Version: 2, scheme: 'exact', network, ...extra }))
    return { kinds, extensions: [], signers: { 'algorand:*': [...this.#feePayers] } }
  }

  /** Whether a payment would be settled. Refusals are results with a code, not errors. */
  async verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    caller: Caller = {},
  ): Promise<VerifyResponse> {
    try {
      const payment = this.#verifyPayment(payload, requirements)
      this.policy.check(caller, requirements, payment)
      // Settling a payment again gets the same result. Verifying must not: a seller that keeps no claims would serve a
      // payment that was copied from the ledger.
      const known = await this.#settler.find(payment.group.transactionId)
      if (known?.state === 'settled') throw new PaymentError('duplicate_settlement', 'this payment is settled already')
      await this.#simulate(payment)
      this.metrics.count('verify', 'valid')
      return { isValid: true, payer: payment.payer }
    } catch (error) {
      const { code, message } = this.#reasonOf(error, 'unexpected_verify_error')
      this.metrics.count('verify', code)
      return { isValid: false, invalidReason: code, invalidMessage: message }
    }
  }

  /** Settles a payment, or returns the result of its settlement. Refusals are results with a code, not errors. */
  async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    caller: Caller = {},
  ): Promise<SettleResponse> {
    const network = requirements?.network
    let transaction = ''
    try {
      const payment = this.#verifyPayment(payload, requirements)
      transaction = payment.group.transactionId
      const known = await this.#settler.find(transaction)
      const result = await (known === undefined
        ? this.#startOnce(payment, requirements, caller)
        : this.#settler.wait(known))
      this.metrics.count('settle', result.state === 'failed' ? 'invalid_exact_avm_settlement_failed' : result.state)
      return responseOf(result, network)
    } catch (error) {
      const { code, message } = this.#reasonOf(error, 'unexpected_settle_error')
      this.metrics.count('settle', code)
      return { success: false, errorReason: code, errorMessage: message, transaction, network }
    }
  }

  /** What is wrong with the nodes or the fee account, for the public; undefined if nothing is. */
  health(): Promise<string | undefined> {
    const now = performance.now()
    if (this.#health === undefined || now - this.#health.checkedMs > healthMs) {
      this.#health = { checkedMs: now, problem: this.#findProblem() }
    }
    return this.#health.problem
  }

  async #findProblem(): Promise<string | undefined> {
    for (const chain of this.#chains) {
      try {
        const { lastRound } = await chain.parameters()
        const [feePayer] = this.#feePayers
        const problem = feePayer === undefined ? undefined : await Funds.feeAccountProblem(chain, feePayer)
        if (problem !== undefined) return problem
        this.metrics.gauge('round', chain.caip2, Number(lastRound))
      } catch (error) {
        this.#onError(error)
        // An AlgodError names the node, whose address may hold a secret.
        const why = error instanceof ChainError ? error.message : 'no node responds as it should'
        return `${chain.caip2}: ${why}`
      }
    }
    return undefined
  }

  /** Stops, and closes the store. Pending settlements stay recorded. */
  async stop(): Promise<void> {
    await this.#settler.stop()
  }

  #verifyPayment(payload: PaymentPayload, requirements: PaymentRequirements): VerifiedPayment {
    return verifyPayment(payload, requirements, { chains: this.#chains, feePayers: this.#feePayers, ...this.#options })
  }

  /** Throws a PaymentError if the ledger would reject the payment. */
  async #simulate(payment: VerifiedPayment): Promise<void> {
    // A payment that was submitted is not simulated: the ledger would call it a duplicate.
    const known = await this.#settler.find(payment.group.transactionId)
    if (known?.state === 'failed')
      throw new PaymentError('invalid_exact_avm_settlement_failed', known.errorMessage ?? 'it was rejected before')
    const key = keyOf(payment)
    if (known !== undefined || this.#wasVerified(key)) return
    const failure = await payment.chain.algod.simulate(this.#unsignedGroup(payment))
    if (failure !== undefined) throw await simulationError(failure, payment)
    this.#verified.set(key, performance.now() + verifiedMs)
  }

  /** Without the signature of the fee payer: a network attacker who reads the simulation could submit the payment. */
  #unsignedGroup({ group, feeIndex }: VerifiedPayment): Uint8Array[] {
    const { address, sender } = this.#feePayer ?? {}
    return group.members.map(({ bytes, txn }, index) => {
      if (index !== feeIndex) return bytes
      // A rekeyed account names its authorizer also without a signature.
      const isRekeyed = sender !== undefined && sender !== address
      return Submission.encode(isRekeyed ? { txn, sgnr: Address.decode(address!) } : { txn })
    })
  }

  /** Concurrent calls with the same bytes share one settlement. Other signatures of the same payment do not. */
  async #startOnce(payment: VerifiedPayment, requirements: PaymentRequirements, caller: Caller): Promise<Settlement> {
    this.policy.check(caller, requirements, payment)
    const key = keyOf(payment)
    let starting = this.#starting.get(key)
    if (starting === undefined) {
      starting = this.#start(payment, requirements).finally(() => this.#starting.delete(key))
      this.#starting.set(key, starting)
    }
    return starting
  }

  /** Signs the fee transaction and records the group: what is submitted is what was recorded. */
  async #start(payment: VerifiedPayment, requirements: PaymentRequirements): Promise<Settlement> {
    await this.#simulate(payment)
    const release = this.policy.spend(requirements, payment.feeMicroAlgos)
    try {
      const { settlement, isNew } = await this.#settler.begin(await this.#settlementOf(payment))
      // Another call reserved the fee, or it was not spent.
      if (!isNew || settlement.state === 'failed') release()
      return settlement
    } catch (error) {
      release()
      throw error
    }
  }

  async #settlementOf(payment: VerifiedPayment): Promise<Settlement> {
    const { chain, group, feeIndex, payer, payTo, amount, assetId, firstValid, lastValid, feeMicroAlgos } = payment
    const members = group.members.map(({ bytes }) => bytes)
    if (feeIndex !== undefined) {
      members[feeIndex] = await Signer.signTransaction(this.#feePayer!, group.members[feeIndex]!.txn)
    }
    return {
      transactionId: group.transactionId,
      state: 'pending',
      network: chain.caip2,
      payer,
      payTo,
      asset: assetId.toString(),
      amount: amount.toString(),
      group: members,
      firstValid,
      lastValid,
      feeMicroAlgos,
      createdMs: Date.now(),
    }
  }

  #wasVerified(key: string): boolean {
    const until = this.#verified.get(key)
    return until !== undefined && performance.now() < until
  }

  /** The part of an error that callers see. The rest is for the operator. */
  #reasonOf(error: unknown, unexpected: PaymentErrorCode): { code: PaymentErrorCode; message: string } {
    if (error instanceof PaymentError) return { code: error.code, message: error.message }
    this.#onError(error)
    if (error instanceof AlgodError)
      return { code: 'facilitator_node_unavailable', message: 'no node of the network responds' }
    return { code: unexpected, message: 'the facilitator failed; send the same payment again, it is not charged twice' }
  }
}

function responseOf(settlement: Settlement, network: PaymentRequirements['network']): SettleResponse {
  const { transactionId: transaction, payer, amount, state, errorReason, errorMessage } = settlement
  if (state === 'settled') return { success: true, transaction, network, payer, amount }
  if (state === 'failed') {
    return { success: false, transaction, network, payer, errorReason: errorReason!, errorMessage: errorMessage! }
  }
  const message = 'the payment was submitted and is not confirmed yet; send it again, it is not charged twice'
  return { success: false, transaction, network, payer, errorReason: 'settlement_pending', errorMessage: message }
}

/** Over signatures too: a result for one signature of a payment does not apply to another. */
function keyOf({ group }: VerifiedPayment): string {
  return Bytes.toBase64(Hash.sha256(Bytes.concat(group.members.map(({ bytes }) => bytes))))
}

/** An error in the listener must not cause another one. */
function silenced(onError: ((error: unknown) => void) | undefined): (error: unknown) => void {
  return (error) => {
    try {
      onError?.(error)
    } catch {
      // There is no one else to report it to.
    }
  }
}

function payerAddress({ address, sender = address }: Signer.Signer): string {
  if (isAddress(address) && isAddress(sender)) return sender
  throw new OptionsError('feePayer has no valid address', errors.invalid_signer_address.hint)
}
