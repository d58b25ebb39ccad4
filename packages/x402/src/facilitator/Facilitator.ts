/** Verifies payments and settles them on chain, for sellers who do not want to. */
import { createHash } from 'node:crypto'
import { AlgodError } from '@latchkey/algod'
import { Address, Submission } from '@latchkey/algorand'
import { type Chain, ChainError } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
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
import { type Code, codes, PaymentError } from './PaymentError.js'
import { type Caller, Policy, type PolicyOptions } from './Policy.js'
import { Settler } from './Settler.js'
import { simulationError } from './simulationError.js'
import { type VerifiedPayment, verifyPayment } from './verifyPayment.js'

export type FacilitatorOptions = {
  /** One for each network that is served. */
  chains: readonly Chain[]
  /** Pays the fees of buyers; without one, buyers pay their own. */
  feePayer?: Signer.Signer | undefined
  store?: SettlementStore | undefined
  policy?: PolicyOptions | undefined
  /** A group may cost this much for each of its transactions. */
  maxFeeMicroAlgosPerTransaction?: bigint | undefined
  maxValidityRounds?: bigint | undefined
  /** How long an answer to /settle may wait for the ledger; after that it is `settlement_pending`. */
  settleTimeoutMs?: number | undefined
  pollMs?: number | undefined
  /** What ended is remembered this long, for those who ask again. */
  keepMs?: number | undefined
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
/** Whoever asks how things are is told what was found this short a time ago: asking is free, and nodes are not. */
const healthMs = 1_000

export class Facilitator {
  readonly metrics = new Metrics()
  readonly policy: Policy
  readonly #chains: readonly Chain[]
  readonly #feePayer: Signer.Signer | undefined
  readonly #feePayers: ReadonlySet<string>
  readonly #options: typeof defaults
  readonly #settler: Settler
  readonly #onError: (error: unknown) => void
  readonly #verified = new Map<string, number>()
  readonly #beginning = new Map<string, Promise<Settlement>>()
  #health: { atMs: number; fault: Promise<string | undefined> } | undefined

  constructor(options: FacilitatorOptions) {
    const { chains, feePayer, store = new MemorySettlements(), policy } = options
    if (chains.length === 0) throw new RangeError('a facilitator serves at least one network')
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
    const onError = quiet(options.onError)
    this.#onError = onError
    this.policy = new Policy(policy)
    this.#settler = new Settler({ store, chains, onError, metrics: this.metrics, ...this.#options })
  }

  /** Takes up what was pending when an earlier process ended. To be called once, before serving. */
  resume(): Promise<number> {
    return this.#settler.resume()
  }

  supported(): SupportedResponse {
    const [feePayer] = this.#feePayers
    const extra = feePayer === undefined ? {} : { extra: { feePayer } }
    const kinds = this.#chains.map(({ caip2 }) => ({
      x402Version: 2,
      scheme: 'exact',
      network: caip2 as `${string}:${string}`,
      ...extra,
    }))
    return { kinds, extensions: [], signers: { 'algorand:*': [...this.#feePayers] } }
  }

  async verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    caller: Caller = {},
  ): Promise<VerifyResponse> {
    try {
      const checked = this.#verifyPayment(payload, requirements)
      this.policy.check(caller, requirements, checked)
      // Settling it again is answered as before. But a server that keeps no record of its own would take a second yes
      // from whoever copied the payment from the ledger.
      const known = await this.#settler.find(checked.group.transactionId)
      if (known?.state === 'settled') throw new PaymentError(codes.duplicate, 'this payment was settled already')
      await this.#examine(checked)
      this.metrics.count('verify', 'valid')
      return { isValid: true, payer: checked.payer }
    } catch (error) {
      const { code, message } = this.#reasonOf(error, codes.unexpectedVerify)
      this.metrics.count('verify', code)
      return { isValid: false, invalidReason: code, invalidMessage: message }
    }
  }

  async settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    caller: Caller = {},
  ): Promise<SettleResponse> {
    const network = requirements?.network
    let transaction = ''
    try {
      const checked = this.#verifyPayment(payload, requirements)
      transaction = checked.group.transactionId
      const known = await this.#settler.find(transaction)
      const result = await (known === undefined
        ? this.#beginOnce(checked, requirements, caller)
        : this.#settler.wait(known))
      this.metrics.count('settle', result.state === 'failed' ? codes.settlement : result.state)
      return answerOf(result, network)
    } catch (error) {
      const { code, message } = this.#reasonOf(error, codes.unexpectedSettle)
      this.metrics.count('settle', code)
      return { success: false, errorReason: code, errorMessage: message, transaction, network }
    }
  }

  /** What is wrong with the nodes or the account that pays fees; undefined if nothing is. Anybody may read it. */
  health(): Promise<string | undefined> {
    const now = performance.now()
    if (this.#health === undefined || now - this.#health.atMs > healthMs) {
      this.#health = { atMs: now, fault: this.#findFault() }
    }
    return this.#health.fault
  }

  async #findFault(): Promise<string | undefined> {
    for (const chain of this.#chains) {
      try {
        const { lastRound } = await chain.parameters()
        const [feePayer] = this.#feePayers
        const fault = feePayer === undefined ? undefined : await Funds.feeAccountFault(chain, feePayer)
        if (fault !== undefined) return fault
        this.metrics.gauge('round', chain.caip2, Number(lastRound))
      } catch (error) {
        this.#onError(error)
        // Addresses of nodes may hold secrets.
        const why = error instanceof ChainError ? error.message : 'no node answers as it should'
        return `${chain.caip2}: ${why}`
      }
    }
    return undefined
  }

  async stop(): Promise<void> {
    await this.#settler.stop()
  }

  #verifyPayment(payload: PaymentPayload, requirements: PaymentRequirements): VerifiedPayment {
    return verifyPayment(payload, requirements, { chains: this.#chains, feePayers: this.#feePayers, ...this.#options })
  }

  /** Throws a Refusal if the ledger would not take it, unless it is on its way already. */
  async #examine(checked: VerifiedPayment): Promise<void> {
    // A payment that is on its way or made is not simulated: the ledger would call it a duplicate.
    const known = await this.#settler.find(checked.group.transactionId)
    if (known?.state === 'failed')
      throw new PaymentError(codes.settlement, known.errorMessage ?? 'it was refused before')
    const key = keyOf(checked)
    if (known !== undefined || this.#wasVerified(key)) return
    const failure = await checked.chain.algod.simulate(this.#toSimulate(checked))
    if (failure !== undefined) throw await simulationError(failure, checked)
    this.#rememberVerified(key)
  }

  /** Not with our signature: nobody who overhears the question could settle the payment behind the seller's back. */
  #toSimulate({ group, feeIndex }: VerifiedPayment): Uint8Array[] {
    const { address, sender } = this.#feePayer ?? {}
    return group.members.map(({ bytes, txn }, index) => {
      if (index !== feeIndex) return bytes
      // Without a signature it still says who is to sign, if that is not the account itself.
      const isRekeyed = sender !== undefined && sender !== address
      return Submission.encode(isRekeyed ? { txn, sgnr: Address.decode(address!) } : { txn })
    })
  }

  /** Those who ask for the same at once get the same; letter for letter, or one could spoil it for the other. */
  async #beginOnce(checked: VerifiedPayment, requirements: PaymentRequirements, caller: Caller): Promise<Settlement> {
    this.policy.check(caller, requirements, checked)
    const key = keyOf(checked)
    let beginning = this.#beginning.get(key)
    if (beginning === undefined) {
      beginning = this.#begin(checked, requirements).finally(() => this.#beginning.delete(key))
      this.#beginning.set(key, beginning)
    }
    return beginning
  }

  /** Signs the fee and writes everything down; what is sent is what was written. */
  async #begin(checked: VerifiedPayment, requirements: PaymentRequirements): Promise<Settlement> {
    await this.#examine(checked)
    const giveBack = this.policy.spend(requirements, checked.feeMicroAlgos)
    try {
      const { settlement, isOurs } = await this.#settler.begin(await this.#write(checked))
      // Somebody else counted it, or nobody had to pay.
      if (!isOurs || settlement.state === 'failed') giveBack()
      return settlement
    } catch (error) {
      giveBack()
      throw error
    }
  }

  async #write(checked: VerifiedPayment): Promise<Settlement> {
    const { chain, group, feeIndex, payer, payTo, amount, assetId, firstValid, lastValid, feeMicroAlgos } = checked
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

  #rememberVerified(key: string): void {
    this.#verified.set(key, performance.now() + verifiedMs)
    if (this.#verified.size > maxVerified) this.#verified.delete(this.#verified.keys().next().value!)
  }

  /** What a stranger may be told; the rest is for the operator. */
  #reasonOf(error: unknown, unexpected: Code): { code: Code; message: string } {
    if (error instanceof PaymentError) return { code: error.code, message: error.message }
    this.#onError(error)
    if (error instanceof AlgodError) return { code: codes.node, message: 'no node of the network answers just now' }
    return { code: unexpected, message: 'the facilitator failed; ask again, a payment is not taken twice' }
  }
}

function answerOf(settlement: Settlement, network: PaymentRequirements['network']): SettleResponse {
  const { transactionId: transaction, payer, amount, state, errorReason, errorMessage } = settlement
  if (state === 'settled') return { success: true, transaction, network, payer, amount }
  if (state === 'failed') {
    return { success: false, transaction, network, payer, errorReason: errorReason!, errorMessage: errorMessage! }
  }
  const message = 'the payment was sent and is not confirmed yet; ask again, it is not taken twice'
  return { success: false, transaction, network, payer, errorReason: codes.pending, errorMessage: message }
}

/** Of everything that came, signatures too: what was found of one spelling is not said of another. */
function keyOf({ group }: VerifiedPayment): string {
  const hash = createHash('sha256')
  for (const { bytes } of group.members) hash.update(bytes)
  return hash.digest('base64')
}

/** Whoever listens for errors cannot cause any. */
function quiet(onError: ((error: unknown) => void) | undefined): (error: unknown) => void {
  return (error) => {
    try {
      onError?.(error)
    } catch {
      // There is nobody left to tell.
    }
  }
}

function payerAddress({ address, sender = address }: Signer.Signer): string {
  if (!Address.isValid(sender)) throw new RangeError('the fee payer has no valid address')
  return sender
}
