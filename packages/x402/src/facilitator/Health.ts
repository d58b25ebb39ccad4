import { AlgodError } from '@latchkey/algod'
import { Network } from '@latchkey/algorand'
import { type Chain, ChainError } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
import { SignerError } from '../signer/Signer.js'
import type { FeeSigner } from './FeeSigner.js'
import type { Metrics } from './Metrics.js'

/** A check this recent is reused: anyone may request one, and it costs requests to a node. */
const freshMs = 1_000

/** What a facilitator reports about itself, for the public. */
export type FacilitatorStatus = {
  /** What is wrong with the nodes, the fee account or its key; undefined if nothing is. */
  readonly problem: string | undefined
  /** Networks whose node answered. */
  readonly networks: readonly NetworkStatus[]
}

/** The state of one network. */
export type NetworkStatus = {
  /** The CAIP-2 id. */
  readonly network: string
  readonly lastRound: bigint
  /** What the fee account can spend there, in microAlgos; undefined without a fee account. */
  readonly feeMicroAlgos: bigint | undefined
}

/** The account that pays the fees, and its signer. */
type Fees = { readonly address: string; readonly signer: FeeSigner }

export type HealthOptions = {
  readonly chains: readonly Chain[]
  readonly fees: Fees | undefined
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
}

/** Checks the nodes, the fee account and its key. */
export class Health {
  readonly #options: HealthOptions
  /** Its time is infinite until it is done. */
  #latest: { checkedMs: number; readonly status: Promise<FacilitatorStatus> } | undefined

  constructor(options: HealthOptions) {
    this.#options = options
  }

  status(): Promise<FacilitatorStatus> {
    const now = performance.now()
    if (this.#latest === undefined || now - this.#latest.checkedMs > freshMs) {
      const latest = { checkedMs: Number.POSITIVE_INFINITY, status: this.#check() }
      this.#latest = latest
      latest.status.finally(() => {
        latest.checkedMs = performance.now()
      })
    }
    return this.#latest.status
  }

  /**
   * Checks that fees can be signed for: that the key can sign, and is the one that the account is authorized by.
   *
   * @throws what the signer throws
   * @throws SignerError with the code `account_rekeyed`
   */
  async checkFeePayer(): Promise<void> {
    const { chains, fees } = this.#options
    if (fees === undefined) return
    await fees.signer.check()
    for (const chain of chains) {
      if (!(await isAuthorized(chain, fees))) throw new SignerError('account_rekeyed', rekeyed(fees.address))
    }
  }

  async #check(): Promise<FacilitatorStatus> {
    const { chains, fees, metrics } = this.#options
    const [signing, ...checks] = await Promise.all([
      fees?.signer.problem(),
      ...chains.map((chain) => this.#checkChain(chain)),
    ])
    const problem = [signing, ...checks.map((check) => check.problem)].find((found) => found !== undefined)
    metrics.set('healthy', problem === undefined ? 1 : 0)
    if (fees !== undefined) metrics.set('can_sign', signing === undefined ? 1 : 0)
    return { problem, networks: checks.flatMap(({ state }) => (state === undefined ? [] : [state])) }
  }

  async #checkChain(chain: Chain): Promise<{ problem: string | undefined; state?: NetworkStatus }> {
    const { fees, metrics, onError } = this.#options
    const network = chain.caip2
    try {
      const { lastRound } = await chain.parameters()
      metrics.set('round', Number(lastRound), network)
      if (fees === undefined) return { problem: undefined, state: { network, lastRound, feeMicroAlgos: undefined } }
      const account = await chain.algod.account(fees.address)
      const feeMicroAlgos = Funds.spendable(account)
      metrics.set('fee_balance_microalgos', Number(feeMicroAlgos), network)
      const isOwn = (account.authAddress ?? fees.address) === fees.signer.signer.address
      const problem = isOwn ? Funds.feeBalanceProblem(chain, fees.address, feeMicroAlgos) : rekeyed(fees.address)
      return { problem, state: { network, lastRound, feeMicroAlgos } }
    } catch (error) {
      onError(error)
      // What is not known any more must not look current.
      metrics.remove('fee_balance_microalgos', network)
      // An AlgodError names the node, whose address may hold a secret.
      const why = error instanceof ChainError ? error.message : 'no node responds as it should'
      return { problem: `${Network.describe(network)}: ${why}` }
    }
  }
}

/** Whether the key signs for the account. A node that is away for a moment does not tell, and `status` reports it. */
async function isAuthorized(chain: Chain, { address, signer }: Fees): Promise<boolean> {
  try {
    const { authAddress = address } = await chain.algod.account(address)
    return authAddress === signer.signer.address
  } catch (error) {
    if (error instanceof AlgodError) return true
    throw error
  }
}

function rekeyed(address: string): string {
  return `the fee account ${address} is authorized by another key than the one that signs for it`
}
