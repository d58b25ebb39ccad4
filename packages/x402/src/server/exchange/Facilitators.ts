/**
 * Several facilitators, in order of preference. A payment whose fees a facilitator pays can be verified and settled
 * only by that facilitator. The choice is therefore made when the requirement is built, and again for payments that any
 * of them can settle. A facilitator that fails is not preferred for a while.
 */
import { Address, Json, Network } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { OptionsError } from '../../errors.js'
import { type FacilitatorCallOptions, type FacilitatorClient, FacilitatorError } from './FacilitatorClient.js'

type FacilitatorState = {
  readonly client: FacilitatorClient
  refreshedMs: number
  refreshing: Promise<void> | undefined
  /** The facilitator failed, and is not preferred before this time. */
  downUntilMs: number
  kinds: readonly Kind[]
  /** Every address that the facilitator ever named, because a buyer may hold an older requirement. */
  readonly feePayers: Set<string>
  /** Fee payers that could not pay or sign, and the time until which they are not offered. */
  readonly failingUntilMs: Map<string, number>
}
/** A network that a facilitator serves. */
export type Kind = {
  readonly scheme: 'exact' | 'upto'
  readonly network: string
  readonly feePayer: string | undefined
}

const refreshMs = 60_000
const retryMs = 2_000
const downMs = 15_000
const maxKinds = 1_000
const maxFeePayers = 1_000

export class Facilitators {
  readonly #all: FacilitatorState[]
  readonly #onError: (error: unknown) => void

  constructor(clients: readonly FacilitatorClient[], onError: (error: unknown) => void = () => {}) {
    if (clients.length === 0) throw new OptionsError('facilitators is empty', 'Pass the URL of a facilitator.')
    this.#onError = onError
    this.#all = clients.map((client) => ({
      client,
      refreshedMs: Number.NEGATIVE_INFINITY,
      refreshing: undefined,
      downUntilMs: 0,
      kinds: [],
      feePayers: new Set(),
      failingUntilMs: new Map(),
    }))
  }

  /**
   * Requests /supported from all facilitators that were not refreshed recently. A response replaces the earlier one; a
   * failure does not.
   */
  async refresh(): Promise<void> {
    await Promise.all(this.#all.map((state) => this.#refreshOne(state)))
  }

  /** Waits until a facilitator is known to serve one of these networks, or all have responded. */
  async ready(chains: readonly Chain[]): Promise<void> {
    const isServed = (): boolean =>
      chains.some((chain) => (this.kindFor(chain) ?? this.kindFor(chain, 'upto')) !== undefined)
    const refreshing = this.#all.map((state) => this.#refreshOne(state))
    if (isServed()) return
    await new Promise<void>((resolve) => {
      for (const one of refreshing) void one.then(() => isServed() && resolve())
      void Promise.all(refreshing).then(() => resolve())
    })
  }

  #refreshOne(state: FacilitatorState): Promise<void> {
    const age = performance.now() - state.refreshedMs
    if (state.refreshing === undefined && age >= (state.kinds.length === 0 ? retryMs : refreshMs)) {
      state.refreshedMs = performance.now()
      state.refreshing = this.#readKinds(state).finally(() => {
        state.refreshing = undefined
      })
    }
    return state.refreshing ?? Promise.resolve()
  }

  async #readKinds(state: FacilitatorState): Promise<void> {
    try {
      const { kinds, signers } = await state.client.supported()
      state.kinds = kinds.slice(0, maxKinds).flatMap(kindOf)
      const named = [...state.kinds.map(({ feePayer }) => feePayer), ...Object.values(signers ?? {}).flat()]
      for (const address of named) {
        if (state.feePayers.size < maxFeePayers && isAddress(address)) state.feePayers.add(address)
      }
    } catch (error) {
      this.#failed(state, error)
    }
  }

  /** The kind that the preferred facilitator offers on a network; undefined if none serves the scheme there. */
  kindFor(chain: Chain, scheme: Kind['scheme'] = 'exact'): Kind | undefined {
    for (const { kinds, failingUntilMs } of this.#preferred()) {
      const own = kinds.filter((kind) => kind.scheme === scheme && chain.matches(kind.network))
      const kind = own.find(({ feePayer }) => isWorking(failingUntilMs, feePayer)) ?? own[0]
      if (kind !== undefined) return kind
    }
    return undefined
  }

  /** Whether one of the facilitators pays fees from the address. */
  isFeePayer(address: unknown): address is string {
    return typeof address === 'string' && this.#all.some(({ feePayers }) => feePayers.has(address))
  }

  async verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    options?: FacilitatorCallOptions,
  ): Promise<VerifyResponse> {
    const { response } = await this.#callFirst(requirements, async ({ client, kinds }) => {
      const verified = await client.verify(...inListedId(payload, requirements, kinds), options)
      if (!verified.isValid) checkOwnFailure(client, requirements, verified.invalidReason, verified.invalidMessage)
      return verified
    })
    return response
  }

  /**
   * A payment settles once on the ledger, so calling a second facilitator is as safe as calling the first one again.
   */
  settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    options?: FacilitatorCallOptions,
  ): Promise<Result<SettleResponse>> {
    return this.#callFirst(requirements, async ({ client, kinds }) => {
      const settled = await client.settle(...inListedId(payload, requirements, kinds), options)
      if (!settled.success) checkOwnFailure(client, requirements, settled.errorReason, settled.errorMessage)
      return settled
    })
  }

  /** Returns the result of the first facilitator that can settle the payment and does not fail. */
  async #callFirst<T>(
    requirements: PaymentRequirements,
    call: (state: FacilitatorState) => Promise<T>,
  ): Promise<Result<T>> {
    const feePayer = requirements.extra['feePayer']
    const candidates = this.#preferred().filter(({ feePayers, kinds }) =>
      // Without a fee payer, any facilitator of the network will do. A facilitator of another network would refuse a
      // valid payment.
      feePayer === undefined
        ? kinds.some(({ network }) => Network.matches(network, requirements.network))
        : feePayers.has(String(feePayer)),
    )
    let last: FacilitatorError | undefined
    for (const state of candidates) {
      try {
        const response = await call(state)
        state.downUntilMs = 0
        return { response, isTrusted: state.client.isTrusted === true }
      } catch (error) {
        last = this.#failed(state, error)
      }
    }
    throw last ?? new FacilitatorError('facilitator_unavailable', 'no facilitator can settle this payment')
  }

  #preferred(): FacilitatorState[] {
    const now = performance.now()
    return [
      ...this.#all.filter(({ downUntilMs }) => downUntilMs <= now),
      ...this.#all.filter(({ downUntilMs }) => downUntilMs > now),
    ]
  }

  #failed(state: FacilitatorState, error: unknown): FacilitatorError {
    if (!(error instanceof FeePayerError) || !hasOther(state, error.feePayer)) {
      state.downUntilMs = performance.now() + downMs
    }
    this.#onError(error)
    if (error instanceof FacilitatorError) return error
    const message = `${state.client.name}: ${(error as Error).message}`
    return new FacilitatorError('facilitator_unavailable', message, { cause: error })
  }
}

type Result<T> = { readonly response: T; readonly isTrusted: boolean }

/**
 * Uses the network id that the facilitator lists, because published facilitators know only one id and compare strings.
 * The signed data does not contain the id.
 */
function inListedId(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  kinds: readonly Kind[],
): [PaymentPayload, PaymentRequirements] {
  const { network } = requirements
  if (payload.accepted?.network === network && kinds.some((kind) => kind.network === network)) {
    return [payload, requirements]
  }
  const listed = kinds.filter((kind) => Network.matches(kind.network, network)).map((kind) => kind.network)
  const id = (listed.includes(network) ? network : (listed[0] ?? network)) as PaymentRequirements['network']
  return [
    { ...payload, accepted: { ...payload.accepted, network: id } },
    { ...requirements, network: id },
  ]
}

/** Reasons why one of a facilitator's fee accounts fails while another may work. */
const feePayerReasons: readonly string[] = ['facilitator_fee_account_unfunded', 'facilitator_key_unavailable']

class FeePayerError extends FacilitatorError {
  readonly feePayer: string

  constructor(feePayer: string, message: string) {
    super('facilitator_unavailable', message)
    this.feePayer = feePayer
  }
}

/**
 * A failure of the facilitator is not the buyer's fault. Another facilitator may settle the payment, or the same one
 * later.
 */
function checkOwnFailure(
  { name }: FacilitatorClient,
  { extra }: PaymentRequirements,
  reason: unknown,
  message: unknown,
): void {
  if (typeof reason !== 'string' || !reason.startsWith('facilitator_')) return
  const text = `${name}: ${reason}: ${String(message).slice(0, 500)}`
  const feePayer = extra['feePayer']
  if (feePayerReasons.includes(reason) && typeof feePayer === 'string') throw new FeePayerError(feePayer, text)
  throw new FacilitatorError('facilitator_unavailable', text)
}

/** Remembers that the account failed, and returns whether the facilitator has another one to offer. */
function hasOther(state: FacilitatorState, failing: string): boolean {
  const { failingUntilMs, kinds } = state
  if (state.feePayers.has(failing)) failingUntilMs.set(failing, performance.now() + downMs)
  // The facilitator may name another account now.
  state.refreshedMs = Math.min(state.refreshedMs, performance.now() - refreshMs)
  return kinds.some(({ feePayer }) => feePayer !== undefined && isWorking(failingUntilMs, feePayer))
}

function isWorking(failingUntilMs: ReadonlyMap<string, number>, feePayer: string | undefined): boolean {
  return feePayer === undefined || (failingUntilMs.get(feePayer) ?? 0) <= performance.now()
}

/** Parses a kind of /supported, which is not validated yet. */
function kindOf(kind: unknown): Kind[] {
  const { scheme, x402Version, network, extra } = Json.isObject(kind) ? kind : {}
  const isKnown = scheme === 'exact' || scheme === 'upto'
  if (!isKnown || x402Version !== 2 || typeof network !== 'string') return []
  const { feePayer: named } = Json.isObject(extra) ? extra : {}
  const feePayer = isAddress(named) ? named : undefined
  // A price by usage is settled in a group of the facilitator.
  if (scheme === 'upto' && feePayer === undefined) return []
  return [{ scheme, network, feePayer }]
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && Address.isValid(value)
}
