/**
 * The Algorand node that the operator named: the few questions the console has for one. Whatever comes back is
 * checked, since nothing says that a node is what listens there.
 */
import { Address } from '@latchkey/algorand'
import { type Answered, AskError, Asker } from './Ask.js'
import * as BigJson from './BigJson.js'

export type NodeOptions = {
  /** http or https; a path is put before those of the node's API. */
  url: string
  token?: string | undefined
  timeoutMs?: number | undefined
  maxAnswerBytes?: number | undefined
}

export type Status = { genesisId: string; genesisHash: string; lastRound: number }

export type Holding = { assetId: bigint; amount: bigint; isFrozen: boolean }

export type Account = {
  microAlgos: bigint
  minMicroAlgos: bigint
  /** Blank if the account's own key signs for it. */
  rekeyedTo: string
  holdings: Holding[]
  /** How many there are, of which `holdings` may be a part. */
  holdingCount: number
}

export type Asset = { decimals: number; unitName: string }

/** What operations ask. */
export type Questions = Pick<Node, 'status' | 'account' | 'asset' | 'transaction'>

export type TransactionState = { state: 'confirmed' | 'pending' | 'unknown'; round: number }

const defaultTimeoutMs = 5_000
const defaultMaxAnswerBytes = 4 * 1024 * 1024
/** Of one account. */
const maxHoldings = 200
const maxAssets = 4_096
const maxWaiting = 4_096
/** The protocol's own limit. */
const maxDecimals = 19

export class Node {
  /** As it may be shown: without its token. */
  readonly name: string
  readonly #asker: Asker
  /** Parameters of assets never change while a ledger goes on. */
  readonly #assets = new Map<bigint, Promise<Asset>>()
  #ledger: Status | undefined
  #waiting = 0

  constructor({ url, token = '', timeoutMs, maxAnswerBytes }: NodeOptions) {
    const parsed = parseUrl(url)
    if (!/^[\x21-\x7e]*$/.test(token)) throw new SettingError('the token of the node holds what cannot be sent')
    this.name = parsed.href.replace(/\/+$/, '')
    this.#asker = new Asker({
      url: parsed,
      token,
      timeoutMs: timeoutMs ?? defaultTimeoutMs,
      maxAnswerBytes: maxAnswerBytes ?? defaultMaxAnswerBytes,
    })
  }

  /** All three in one answer, and of one moment. */
  async status(): Promise<Status> {
    const answer = await this.#object('/v2/transactions/params')
    const status = {
      genesisId: this.#text(answer, 'genesis-id'),
      genesisHash: this.#text(answer, 'genesis-hash'),
      lastRound: this.#number(answer, 'last-round'),
    }
    // A ledger that was put back, or another one: what is known of its assets may be wrong.
    const before = this.#ledger
    const isSame = before?.genesisHash === status.genesisHash && before.lastRound <= status.lastRound
    if (before !== undefined && !isSame) this.#assets.clear()
    this.#ledger = status
    return status
  }

  async account(address: string): Promise<Account> {
    const answer = await this.#wholeAccount(`/v2/accounts/${address}`)
    const rekeyedTo = answer['auth-addr'] ?? ''
    if (typeof rekeyedTo !== 'string' || (rekeyedTo !== '' && !Address.isValid(rekeyedTo))) throw this.#nonsense()
    const listed = answer['assets'] ?? []
    if (!Array.isArray(listed)) throw this.#nonsense()
    const count = answer['total-assets-opted-in'] === undefined ? 0 : this.#number(answer, 'total-assets-opted-in')
    return {
      microAlgos: this.#uint(answer, 'amount'),
      minMicroAlgos: this.#uint(answer, 'min-balance'),
      rekeyedTo: rekeyedTo === address ? '' : rekeyedTo,
      holdings: listed.slice(0, maxHoldings).map((element) => this.#holding(element)),
      holdingCount: Math.max(count, listed.length),
    }
  }

  /** Of an asset that is gone, nothing: no decimals and a blank name. */
  async asset(assetId: bigint): Promise<Asset> {
    const known = this.#assets.get(assetId)
    if (known !== undefined) return known
    const [oldest] = this.#assets.keys()
    if (this.#assets.size >= maxAssets) this.#assets.delete(oldest!)
    const asking = this.#askForAsset(assetId)
    this.#assets.set(assetId, asking)
    const forget = (): void => {
      if (this.#assets.get(assetId) === asking) this.#assets.delete(assetId)
    }
    // It may still come to be.
    return asking.then(
      (asset) => {
        if (asset === goneAsset) forget()
        return asset
      },
      (error: unknown) => {
        forget()
        throw error
      },
    )
  }

  /** As far back as the node remembers, which is some thousand rounds. */
  async transaction(transactionId: string): Promise<TransactionState> {
    const answer = await this.#ask(`/v2/transactions/pending/${transactionId}`)
    if (answer.status === 404) return { state: 'unknown', round: 0 }
    const members = this.#parse(answer)
    const round = members['confirmed-round'] === undefined ? 0 : this.#number(members, 'confirmed-round')
    if (round > 0) return { state: 'confirmed', round }
    const dropped = members['pool-error']
    return { state: dropped === undefined || dropped === '' ? 'pending' : 'unknown', round: 0 }
  }

  close(): Promise<void> {
    return this.#asker.close()
  }

  /** An account that has more than a node, or this one, puts into one answer is told without what it has. */
  async #wholeAccount(path: string): Promise<Members> {
    try {
      const answer = await this.#ask(path)
      if (answer.status !== 400) return this.#parse(answer)
    } catch (error) {
      if (!(error instanceof NodeError && error.isTooLong)) throw error
    }
    return this.#object(`${path}?exclude=all`)
  }

  #holding(element: unknown): Holding {
    if (!isObject(element)) throw this.#nonsense()
    return {
      assetId: this.#uint(element, 'asset-id'),
      amount: this.#uint(element, 'amount'),
      isFrozen: element['is-frozen'] === true,
    }
  }

  async #askForAsset(assetId: bigint): Promise<Asset> {
    const answer = await this.#ask(`/v2/assets/${assetId}`)
    if (answer.status === 404) return goneAsset
    const params = this.#parse(answer)['params']
    if (!isObject(params)) throw this.#nonsense()
    const decimals = this.#number(params, 'decimals')
    if (decimals > maxDecimals) throw this.#nonsense()
    // Left out by nodes where its bytes are nothing to show.
    const unitName = params['unit-name']
    return { decimals, unitName: typeof unitName === 'string' ? unitName.slice(0, maxUnitLength) : '' }
  }

  async #object(path: string): Promise<Members> {
    return this.#parse(await this.#ask(path))
  }

  async #ask(path: string): Promise<Answered> {
    if (this.#waiting >= maxWaiting) throw new NodeError('too many questions wait for the node; ask again later')
    this.#waiting++
    try {
      return await this.#asker.get(path)
    } catch (error) {
      if (!(error instanceof AskError)) throw error
      const message = `the node at ${this.name} ${error.message}; see whether it runs, and whether this is its address`
      throw new NodeError(message, { isTooLong: error.isTooLong, cause: error })
    } finally {
      this.#waiting--
    }
  }

  #parse({ status, text }: Answered): Members {
    if (status === 401 || status === 403) {
      throw new NodeError(
        `the node at ${this.name} refuses the token (status ${status}); set the one in its algod.token`,
      )
    }
    let value: unknown
    try {
      value = BigJson.parse(text)
    } catch {
      // Told below, without the text: it may be the page of whatever listens there.
    }
    if (status !== 200) throw this.#refusal(status, value)
    if (!isObject(value)) throw this.#nonsense()
    return value
  }

  #refusal(status: number, answer: unknown): NodeError {
    const message = isObject(answer) && typeof answer['message'] === 'string' ? answer['message'] : ''
    const words = message === '' ? '' : `: ${message.slice(0, maxMessageLength)}`
    return new NodeError(`the node at ${this.name} answered with status ${status}${words}`)
  }

  #nonsense(): NodeError {
    return new NodeError(`what answers at ${this.name} is not an Algorand node; check the address`)
  }

  #text(members: Members, name: string): string {
    const value = members[name]
    if (typeof value !== 'string' || value.length > maxTextLength) throw this.#nonsense()
    return value
  }

  #uint(members: Members, name: string): bigint {
    return BigJson.uint64(members[name]) ?? refuse(this.#nonsense())
  }

  #number(members: Members, name: string): number {
    const value = Number(this.#uint(members, name))
    return Number.isSafeInteger(value) ? value : refuse(this.#nonsense())
  }
}

type Members = { readonly [name: string]: unknown }

const goneAsset: Asset = { decimals: 0, unitName: '' }
const maxUnitLength = 32
const maxTextLength = 256
const maxMessageLength = 300

function parseUrl(url: string): URL {
  let parsed: URL | undefined
  try {
    parsed = new URL(url)
  } catch {
    // Told below.
  }
  const isHttp = parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
  if (parsed === undefined || !isHttp) throw new SettingError('the node must be an http or https URL')
  const { username, password, search, hash } = parsed
  // Not shown: what is too much may be a secret.
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    throw new SettingError('the URL of the node has more than a host, port and path; its token is a setting of its own')
  }
  return parsed
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuse(error: Error): never {
  throw error
}

/** The node did not answer what was asked. The text says which node, why, and what to do. */
export class NodeError extends Error {
  override name = 'Node.NodeError'
  readonly isTooLong: boolean

  constructor(message: string, { isTooLong = false, cause }: { isTooLong?: boolean; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.isTooLong = isTooLong
  }
}

export class SettingError extends Error {
  override name = 'Node.SettingError'
}
