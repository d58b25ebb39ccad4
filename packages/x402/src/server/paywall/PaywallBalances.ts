/**
 * The balances of a connected wallet's accounts, with which the page selects one that can pay. Anyone can query them,
 * and each request costs the seller's node something, so accounts per request and lookups per second are limited.
 */
import { BoundedMap } from '@latchkey/algorand'
import { algoAssetId, type Chain, isAddress, parseAssetId } from '../../chain/Chain.js'
import { json } from '../gate/responses.js'

const maxAccounts = 16
const lookupsPerSecond = 40
const maxBurst = 320
const cacheMs = 2_000
const maxCached = 1_000

type AccountFunds = {
  readonly address: string
  /** The balance above the minimum balance. */
  readonly microAlgos: string
  /** Null if the account has not opted in. */
  readonly holding: { readonly amount: string; readonly isFrozen: boolean } | null
}

export class PaywallBalances {
  readonly #cache = new BoundedMap<string, { readonly atMs: number; readonly funds: Promise<AccountFunds> }>(maxCached)
  #allowance = maxBurst
  #refilledMs = performance.now()

  /** The response to the page's request, with the accounts that the node reported. */
  async response(query: URLSearchParams, chains: readonly Chain[]): Promise<Response> {
    const addresses = query.getAll('account')
    const chain = chains.find(({ caip2 }) => caip2 === query.get('network'))
    const assetId = parseAssetId(query.get('asset') ?? '')
    const isValid = addresses.length > 0 && addresses.length <= maxAccounts && addresses.every(isAddress)
    if (!isValid || chain === undefined || assetId === undefined) {
      return json(400, { error: `balances needs the parameters network, asset and 1 to ${maxAccounts} of account` })
    }
    if (!this.#take(addresses.length)) return unavailable(429, 'too many balance requests')
    const found = await Promise.allSettled(addresses.map((address) => this.#find(chain, address, assetId)))
    const accounts = found.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
    return accounts.length === 0 ? unavailable(503, 'no node responds') : json(200, { accounts })
  }

  /** Whether this number of lookups is allowed now. */
  #take(count: number): boolean {
    const nowMs = performance.now()
    const refill = ((nowMs - this.#refilledMs) / 1_000) * lookupsPerSecond
    this.#allowance = Math.min(maxBurst, this.#allowance + refill)
    this.#refilledMs = nowMs
    if (this.#allowance < count) return false
    this.#allowance -= count
    return true
  }

  #find(chain: Chain, address: string, assetId: bigint): Promise<AccountFunds> {
    const key = `${chain.caip2} ${address} ${assetId}`
    const cached = this.#cache.get(key)
    if (cached !== undefined && performance.now() - cached.atMs < cacheMs) return cached.funds
    const funds = lookUp(chain, address, assetId)
    this.#cache.set(key, { atMs: performance.now(), funds })
    funds.catch(() => this.#cache.delete(key))
    return funds
  }
}

async function lookUp({ algod }: Chain, address: string, assetId: bigint): Promise<AccountFunds> {
  const [{ microAlgos, minBalance }, holding] = await Promise.all([
    algod.account(address),
    assetId === algoAssetId ? undefined : algod.holding(address, assetId),
  ])
  const spendable = microAlgos > minBalance ? microAlgos - minBalance : 0n
  return {
    address,
    microAlgos: spendable.toString(),
    holding: holding === undefined ? null : { amount: holding.amount.toString(), isFrozen: holding.isFrozen },
  }
}

function unavailable(status: 429 | 503, error: string): Response {
  const response = json(status, { error })
  response.headers.set('Retry-After', '5')
  return response
}
