import { AlgodError } from '@latchkey/algod'
import { Network } from '@latchkey/algorand'
import { type Chain, ChainError } from '../../chain/Chain.js'
import * as Funds from '../../chain/Funds.js'
import { SignerError } from '../../signer/Signer.js'
import { type FeePayer, type FeePayers, isLongerThan, rekeyedText } from '../settle/FeePayers.js'
import type { SettingDigests } from '../store/Settlement.js'
import type { SettlementStore } from '../store/Settlements.js'
import { type CheckedStore, type HealthCheck, type HealthCheckName, Since, StoreCheck } from './HealthChecks.js'
import type { Metrics } from './Metrics.js'
import { SettingsCheck } from './SettingsCheck.js'

/** Checks this recent are reused, because anyone may request one and it sends requests to a node. */
const freshMs = 1_000
/** A node that takes longer is reported. */
const nodePatienceMs = 5_000
/** The wait for the keys of further accounts after one of them can sign. */
const keyPatienceMs = 5_000

/** The public status of a facilitator. */
export type FacilitatorStatus = {
  /** The problem that keeps the facilitator from settling payments; undefined if there is none. */
  readonly problem: string | undefined
  /** Whether the facilitator takes payments: it has no problem and is not about to stop. */
  readonly isReady: boolean
  readonly checks: readonly HealthCheck[]
  /**
   * Problems that do not prevent settling: some fee accounts fail while others work, or replicas have different
   * settings.
   */
  readonly warnings: readonly string[]
  /** Networks whose node answered. */
  readonly networks: readonly NetworkStatus[]
  readonly feeAccounts: readonly FeeAccountStatus[]
}

/** The state of one network. */
export type NetworkStatus = {
  /** The CAIP-2 id. */
  readonly network: string
  readonly lastRound: bigint
  /** The spendable microAlgos of all fee accounts on the network; undefined without a fee account. */
  readonly feeMicroAlgos: bigint | undefined
}

/** The state of one fee account on one network. */
export type FeeAccountStatus = {
  readonly network: string
  readonly address: string
  /** The account's spendable microAlgos on the network; undefined if no node reports them. */
  readonly feeMicroAlgos: bigint | undefined
  /** The reason why the account does not pay fees on the network; undefined if it does. */
  readonly problem: string | undefined
  /** When the current state began, in milliseconds since 1970. */
  readonly sinceMs: number
}

export type HealthOptions = {
  readonly chains: readonly Chain[]
  readonly feePayers: FeePayers
  readonly store: CheckedStore & Pick<SettlementStore, 'settings' | 'connections'>
  readonly settings: SettingDigests
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
}

type ChainState = {
  readonly chain: Chain
  readonly problem: string | undefined
  readonly state?: NetworkStatus
  readonly balances?: ReadonlyMap<string, bigint>
}

/** Checks the database, the nodes, the fee accounts and their keys. */
export class Health {
  readonly #options: HealthOptions
  readonly #store: StoreCheck
  readonly #settings: SettingsCheck
  readonly #since = new Since()
  #isDraining = false
  /** `checkedMs` is infinite until the check is done. */
  #latest: { checkedMs: number; readonly status: Promise<FacilitatorStatus> } | undefined
  /** The last completed check. */
  #done: FacilitatorStatus | undefined

  constructor(options: HealthOptions) {
    this.#options = options
    this.#store = new StoreCheck(options.store, options.onError)
    this.#settings = new SettingsCheck(options.settings, options.store.settings, options.onError)
    this.#accepting()
    options.metrics.set('draining', 0)
  }

  /** The current status. If the check takes longer than `withinMs`, returns the previous status. */
  async status(withinMs?: number): Promise<FacilitatorStatus> {
    const now = performance.now()
    if (this.#latest === undefined || now - this.#latest.checkedMs > freshMs) {
      const latest = { checkedMs: Number.POSITIVE_INFINITY, status: this.#check() }
      this.#latest = latest
      const end = (status?: FacilitatorStatus): void => {
        latest.checkedMs = performance.now()
        this.#done = status
      }
      latest.status.then(end, () => end())
    }
    const { status } = this.#latest
    const isLate = withinMs !== undefined && this.#done !== undefined && (await isLongerThan(withinMs, status))
    // The facilitator may have begun to stop since the check.
    return this.#withAccepting(isLate ? this.#done! : await status)
  }

  /** Stops taking payments. */
  drain(): void {
    this.#isDraining = true
    this.#accepting()
    this.#options.metrics.set('draining', 1)
    this.#options.metrics.set('ready', 0)
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /**
   * Checks that at least one account can sign for fees: its key can sign, and the account is authorized by that key.
   *
   * @throws what the signer of the first account throws
   * @throws SignerError with the code `account_rekeyed`
   */
  async checkFeePayer(): Promise<void> {
    const { feePayers, chains, onError } = this.#options
    const failures: unknown[] = []
    const checks = feePayers.all.map((payer) =>
      checkPayer(payer, chains).catch((error: unknown) => {
        failures.push(error)
        throw error
      }),
    )
    if (checks.length === 0) return
    const all = Promise.allSettled(checks)
    try {
      await Promise.any(checks)
    } catch {
      throw (await all).flatMap((check) => (check.status === 'rejected' ? [check.reason as unknown] : []))[0]
    }
    // One account that can sign is enough to start. `status` reports a key daemon that hangs.
    await isLongerThan(keyPatienceMs, all)
    for (const failure of failures) onError(failure)
  }

  async #check(): Promise<FacilitatorStatus> {
    const { chains, feePayers, metrics } = this.#options
    const [store, differences, keys, ...states] = await Promise.all([
      this.#store.isPossible ? this.#store.problem() : undefined,
      this.#settings.warnings(),
      this.#checkKeys(),
      ...chains.map((chain) => this.#checkChain(chain)),
    ])
    const feeAccounts = states.flatMap((state) => feePayers.all.map((payer) => this.#feeAccount(payer, keys, state)))
    const checks = [
      ...(this.#store.isPossible ? [this.#result('store', store)] : []),
      ...(feePayers.all.length === 0 ? [] : [this.#result('key', ofAll([...keys.values()]))]),
      ...states.flatMap(({ chain: { caip2 }, problem, balances }) => [
        this.#result('node', problem, caip2),
        ...(balances === undefined || balances.size === 0
          ? []
          : [this.#result('fee_balance', ofAll(problemsOn(caip2, feeAccounts)), caip2)]),
      ]),
    ]
    const problem = checks.find((check) => !check.isOk)?.problem
    metrics.set('healthy', problem === undefined ? 1 : 0)
    metrics.set('ready', problem === undefined && !this.#isDraining ? 1 : 0)
    if (this.#store.isPossible) metrics.set('store_up', store === undefined ? 1 : 0)
    if (this.#options.store.settings !== undefined) metrics.set('differing_replicas', differences.length)
    const failed = new Set(checks.map((check) => check.problem))
    const ofAccounts = [...new Set(feeAccounts.flatMap((one) => one.problem ?? []))].filter((text) => !failed.has(text))
    const warnings = [...ofAccounts, ...differences]
    const networks = states.flatMap(({ state }) => (state === undefined ? [] : [state]))
    this.#countConnections()
    return { problem, isReady: problem === undefined, checks, warnings, networks, feeAccounts }
  }

  #countConnections(): void {
    const { store, metrics } = this.#options
    const { connections } = store
    if (connections === undefined) return
    metrics.set('store_connections', connections.inUse, { state: 'in_use' })
    metrics.set('store_connections', connections.idle, { state: 'idle' })
    metrics.set('store_connections', connections.waiting, { state: 'waiting' })
    metrics.set('store_max_connections', connections.max)
  }

  #withAccepting(status: FacilitatorStatus): FacilitatorStatus {
    const accepting = this.#accepting()
    const problem = accepting.problem ?? status.problem
    return { ...status, problem, isReady: problem === undefined, checks: [accepting, ...status.checks] }
  }

  #accepting(): HealthCheck {
    return this.#result('accepting', this.#isDraining ? 'the facilitator is shutting down' : undefined)
  }

  #result(name: HealthCheckName, problem: string | undefined, network?: string): HealthCheck {
    const isOk = problem === undefined
    const sinceMs = this.#since.of(`${name} ${network ?? ''}`, isOk)
    return { name, ...(network === undefined ? {} : { network }), isOk, sinceMs, ...(isOk ? {} : { problem }) }
  }

  /** The problem of each key, by the address of its account. */
  async #checkKeys(): Promise<ReadonlyMap<string, string | undefined>> {
    const { feePayers, metrics } = this.#options
    const check = async ({ address, signer }: FeePayer) => {
      const problem = await signer.problem()
      metrics.set('can_sign', problem === undefined ? 1 : 0, { account: address })
      return [address, problem] as const
    }
    return new Map(await Promise.all(feePayers.all.map(check)))
  }

  #feeAccount(
    payer: FeePayer,
    keys: ReadonlyMap<string, string | undefined>,
    { chain, balances }: ChainState,
  ): FeeAccountStatus {
    const { address } = payer
    const network = chain.caip2
    const problem = keys.get(address) ?? payer.problem(network)
    const sinceMs = this.#since.of(`account ${network} ${address}`, problem === undefined)
    return { network, address, feeMicroAlgos: balances?.get(address), problem, sinceMs }
  }

  async #checkChain(chain: Chain): Promise<ChainState> {
    const { feePayers, metrics, onError } = this.#options
    const network = chain.caip2
    try {
      const asking = this.#askChain(chain)
      if (!(await isLongerThan(nodePatienceMs, asking))) return await asking
      return { chain, problem: `${Network.describe(network)}: no node responded in time` }
    } catch (error) {
      onError(error)
      // A balance that is no longer known must not look current.
      for (const { address } of feePayers.all) metrics.remove('fee_balance_microalgos', { network, account: address })
      // An AlgodError names the node, whose address may contain a secret.
      const why = error instanceof ChainError ? error.message : 'no node gave a valid response'
      return { chain, problem: `${Network.describe(network)}: ${why}` }
    }
  }

  async #askChain(chain: Chain): Promise<ChainState> {
    const { feePayers, metrics } = this.#options
    const network = chain.caip2
    const { lastRound } = await chain.parameters()
    metrics.set('round', Number(lastRound), { network })
    const balances = new Map<string, bigint>()
    const ask = async (payer: FeePayer): Promise<void> => {
      const { address } = payer
      const account = await chain.algod.account(address)
      const feeMicroAlgos = Funds.spendable(account)
      balances.set(address, feeMicroAlgos)
      metrics.set('fee_balance_microalgos', Number(feeMicroAlgos), { network, account: address })
      const isOwn = (account.authAddress ?? address) === payer.authorizer
      payer.report(network, isOwn ? Funds.feeBalanceProblem(chain, address, feeMicroAlgos) : rekeyedText(address))
    }
    await Promise.all(feePayers.all.map(ask))
    const sum = [...balances.values()].reduce((total, one) => total + one, 0n)
    const feeMicroAlgos = balances.size === 0 ? undefined : sum
    return { chain, problem: undefined, state: { network, lastRound, feeMicroAlgos }, balances }
  }
}

/** The first problem, if every item has one. */
function ofAll(problems: readonly (string | undefined)[]): string | undefined {
  return problems.includes(undefined) ? undefined : problems[0]
}

function problemsOn(id: string, accounts: readonly FeeAccountStatus[]): (string | undefined)[] {
  return accounts.filter(({ network }) => network === id).map(({ problem }) => problem)
}

async function checkPayer(payer: FeePayer, chains: readonly Chain[]): Promise<void> {
  await payer.signer.check()
  for (const chain of chains) {
    if (!(await isAuthorized(chain, payer))) throw new SignerError('account_rekeyed', rekeyedText(payer.address))
  }
}

/** Whether the key signs for the account. True if the node does not answer, which `status` reports. */
async function isAuthorized(chain: Chain, { address, authorizer }: FeePayer): Promise<boolean> {
  try {
    const { authAddress = address } = await chain.algod.account(address)
    return authAddress === authorizer
  } catch (error) {
    if (error instanceof AlgodError) return true
    throw error
  }
}
