/**
 * Several facilitators, asked in order. A payment whose fees one of them pays can only be verified and settled by that
 * one; so the choice is made when the price is named, and again for payments that anybody can settle. One that fails
 * is not named again for a while.
 */
import { Address } from '@latchkey/algorand'
import type { Chain } from '../chain/Chain.js'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '../wire/types.js'
import { type FacilitatorClient, FacilitatorError } from './FacilitatorClient.js'

type Known = {
  readonly client: FacilitatorClient
  askedMs: number
  asking: Promise<void> | undefined
  /** Failed lately, and is not preferred until then. */
  downUntilMs: number
  kinds: readonly Kind[]
  /** Every address it ever named: buyers may have been told of one a while ago. */
  readonly feePayers: Set<string>
}
export type Kind = { readonly network: string; readonly feePayer: string | undefined }

const refreshMs = 60_000
const retryMs = 2_000
const downMs = 15_000
const maxKinds = 1_000
const maxFeePayers = 1_000

export class Facilitators {
  readonly #all: Known[]
  readonly #onError: (error: unknown) => void

  constructor(clients: readonly FacilitatorClient[], onError: (error: unknown) => void = () => {}) {
    if (clients.length === 0) throw new RangeError('a seller needs at least one facilitator')
    this.#onError = onError
    this.#all = clients.map((client) => ({
      client,
      askedMs: Number.NEGATIVE_INFINITY,
      asking: undefined,
      downUntilMs: 0,
      kinds: [],
      feePayers: new Set(),
    }))
  }

  /** Asks all that were not asked lately; what they say replaces what they said, silence does not. */
  async refresh(): Promise<void> {
    await Promise.all(this.#all.map((known) => this.#refreshOne(known)))
  }

  /** Waits until somebody is known to serve one of these networks, or all have said that they do not. */
  async ready(chains: readonly Chain[]): Promise<void> {
    const isServed = (): boolean => chains.some((chain) => this.kindFor(chain) !== undefined)
    const asking = this.#all.map((known) => this.#refreshOne(known))
    if (isServed()) return
    await new Promise<void>((resolve) => {
      for (const one of asking) void one.then(() => isServed() && resolve())
      void Promise.all(asking).then(() => resolve())
    })
  }

  #refreshOne(known: Known): Promise<void> {
    const age = performance.now() - known.askedMs
    if (known.asking === undefined && age >= (known.kinds.length === 0 ? retryMs : refreshMs)) {
      known.askedMs = performance.now()
      known.asking = this.#askKinds(known).finally(() => {
        known.asking = undefined
      })
    }
    return known.asking ?? Promise.resolve()
  }

  async #askKinds(known: Known): Promise<void> {
    try {
      const { kinds, signers } = await known.client.supported()
      known.kinds = kinds.slice(0, maxKinds).flatMap(kindOf)
      const named = [...known.kinds.map(({ feePayer }) => feePayer), ...Object.values(signers ?? {}).flat()]
      for (const address of named) {
        if (known.feePayers.size < maxFeePayers && isAddress(address)) known.feePayers.add(address)
      }
    } catch (error) {
      this.#failed(known, error)
    }
  }

  /** What a requirement on this network carries: who pays the fees, if anybody does. Undefined if nobody serves it. */
  kindFor(chain: Chain): Kind | undefined {
    for (const { kinds } of this.#preferred()) {
      const kind = kinds.find(({ network }) => chain.matches(network))
      if (kind !== undefined) return kind
    }
    return undefined
  }

  /** Whether one of them pays fees from this address. */
  isFeePayer(address: unknown): address is string {
    return typeof address === 'string' && this.#all.some(({ feePayers }) => feePayers.has(address))
  }

  async verify(payload: PaymentPayload, requirements: PaymentRequirements): Promise<VerifyResponse> {
    const { answer } = await this.#ask(requirements, async (client) => {
      const verified = await client.verify(payload, requirements)
      if (!verified.isValid) checkTrouble(client, verified.invalidReason, verified.invalidMessage)
      return verified
    })
    return answer
  }

  /** Whoever settles it may have done so before the answer was lost; asking another one is as safe as asking again. */
  settle(payload: PaymentPayload, requirements: PaymentRequirements): Promise<Asked<SettleResponse>> {
    return this.#ask(requirements, async (client) => {
      const settled = await client.settle(payload, requirements)
      if (!settled.success) checkTrouble(client, settled.errorReason, settled.errorMessage)
      return settled
    })
  }

  async #ask<T>(requirements: PaymentRequirements, ask: (client: FacilitatorClient) => Promise<T>): Promise<Asked<T>> {
    const feePayer = requirements.extra['feePayer']
    const able = this.#preferred().filter(({ feePayers }) => feePayer === undefined || feePayers.has(String(feePayer)))
    let last: unknown = new FacilitatorError('no facilitator can settle this payment')
    for (const known of able) {
      try {
        const answer = await ask(known.client)
        known.downUntilMs = 0
        return { answer, isTrusted: known.client.isTrusted === true }
      } catch (error) {
        last = this.#failed(known, error)
      }
    }
    throw last
  }

  #preferred(): Known[] {
    const now = performance.now()
    return [
      ...this.#all.filter(({ downUntilMs }) => downUntilMs <= now),
      ...this.#all.filter(({ downUntilMs }) => downUntilMs > now),
    ]
  }

  #failed(known: Known, error: unknown): FacilitatorError {
    known.downUntilMs = performance.now() + downMs
    this.#onError(error)
    if (error instanceof FacilitatorError) return error
    return new FacilitatorError(`${known.client.name}: ${(error as Error).message}`, { cause: error })
  }
}

export type Asked<T> = { readonly answer: T; readonly isTrusted: boolean }

/** What is the facilitator's own trouble is not the buyer's: another one may do, or the same one later. */
function checkTrouble({ name }: FacilitatorClient, reason: unknown, message: unknown): void {
  if (typeof reason !== 'string' || !reason.startsWith('facilitator_')) return
  throw new FacilitatorError(`${name}: ${reason}: ${String(message).slice(0, 500)}`)
}

/** From outside; so nothing about it is certain. */
function kindOf(kind: unknown): Kind[] {
  const { scheme, x402Version, network, extra } = (kind ?? {}) as { [name: string]: unknown }
  if (scheme !== 'exact' || x402Version !== 2 || typeof network !== 'string') return []
  const { feePayer } = (extra ?? {}) as { feePayer?: unknown }
  return [{ network, feePayer: isAddress(feePayer) ? feePayer : undefined }]
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && Address.isValid(value)
}
