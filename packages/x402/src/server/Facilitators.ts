/**
 * Several facilitators, in the order of preference. A payment whose fees one of them pays can only be verified and settled
 * by that one, so the choice is made when the requirement is built, and again for payments that any of them can settle.
 * One that fails is not preferred for a while.
 */
import { Address, Json, Network } from '@latchkey/algorand'
import type { Chain } from '../chain/Chain.js'
import { OptionsError } from '../errors.js'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '../wire/types.js'
import { type FacilitatorCallOptions, type FacilitatorClient, FacilitatorError } from './FacilitatorClient.js'

type FacilitatorState = {
  readonly client: FacilitatorClient
  refreshedMs: number
  refreshing: Promise<void> | undefined
  /** It failed, and is not preferred until then. */
  downUntilMs: number
  kinds: readonly Kind[]
  /** Every address it ever named: a buyer may hold an older requirement. */
  readonly feePayers: Set<string>
  /** Those that could not pay or sign, and are not offered until then. */
  readonly failingUntilMs: Map<string, number>
}
/** What one facilitator serves on one network. */
export type Kind = { readonly network: string; readonly feePayer: string | undefined }

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

  /** Requests /supported of all that were not refreshed lately. A response replaces the earlier one, a failure does not. */
  async refresh(): Promise<void> {
    await Promise.all(this.#all.map((state) => this.#refreshOne(state)))
  }

  /** Waits until a facilitator is known to serve one of these networks, or all have responded. */
  async ready(chains: readonly Chain[]): Promise<void> {
    const isServed = (): boolean => chains.some((chain) => this.kindFor(chain) !== undefined)
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

  /** What the preferred facilitator serves on a network; undefined if none serves it. */
  kindFor(chain: Chain): Kind | undefined {
    for (const { kinds, failingUntilMs } of this.#preferred()) {
      const own = kinds.filter(({ network }) => chain.matches(network))
      const kind = own.find(({ feePayer }) => isWorking(failingUntilMs, feePayer)) ?? own[0]
      if (kind !== undefined) return kind
    }
    return undefined
  }

  /** Whether one of them pays fees from the address. */
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

  /** A payment settles once on the ledger, so asking a second facilitator is as safe as asking the first one again. */
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

  /** The result of the first facilitator that can settle the payment and does not fail. */
  async #callFirst<T>(
    requirements: PaymentRequirements,
    call: (state: FacilitatorState) => Promise<T>,
  ): Promise<Result<T>> {
    const feePayer = requirements.extra['feePayer']
    const candidates = this.#preferred().filter(({ feePayers, kinds }) =>
      // Without a fee payer, any of the network: one of another network would refuse a payment that is good.
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
 * A payment with the id of its network that the facilitator lists: published ones know only one, and compare the strings.
 * Nothing that is signed contains it.
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

/** What one of several fee accounts of a facilitator fails with, while another may work. */
const feePayerReasons: readonly string[] = ['facilitator_fee_account_unfunded', 'facilitator_key_unavailable']

class FeePayerError extends FacilitatorError {
  readonly feePayer: string

  constructor(feePayer: string, message: string) {
    super('facilitator_unavailable', message)
    this.feePayer = feePayer
  }
}

/** A failure of the facilitator itself is not the buyer's: another one may settle, or the same one later. */
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

/** Remembers that the account failed, and whether the facilitator has another one to offer. */
function hasOther(state: FacilitatorState, failing: string): boolean {
  const { failingUntilMs, kinds } = state
  if (state.feePayers.has(failing)) failingUntilMs.set(failing, performance.now() + downMs)
  // It may name another one by now.
  state.refreshedMs = Math.min(state.refreshedMs, performance.now() - refreshMs)
  return kinds.some(({ feePayer }) => feePayer !== undefined && isWorking(failingUntilMs, feePayer))
}

function isWorking(failingUntilMs: ReadonlyMap<string, number>, feePayer: string | undefined): boolean {
  return feePayer === undefined || (failingUntilMs.get(feePayer) ?? 0) <= performance.now()
}

/** A kind of /supported, which is not validated yet. */
function kindOf(kind: unknown): Kind[] {
  const { scheme, x402Version, network, extra } = Json.isObject(kind) ? kind : {}
  if (scheme !== 'exact' || x402Version !== 2 || typeof network !== 'string') return []
  const { feePayer } = Json.isObject(extra) ? extra : {}
  return [{ network, feePayer: isAddress(feePayer) ? feePayer : undefined }]
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && Address.isValid(value)
}
