/** The filter for transactions in a request. */
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from '../rest/ApiError.js'
import type { Query } from '../rest/Route.js'
import * as NextToken from './NextToken.js'
import * as Parameters from './Parameters.js'
import * as Roles from './Roles.js'

export type TransactionFilter = {
  readonly address?: MapKey.MapKey | undefined
  /** Any of these roles; 0 for every role. */
  readonly roles: number
  readonly assetId?: bigint | undefined
  readonly type?: string | undefined
  readonly signature?: string | undefined
  readonly transactionId?: string | undefined
  readonly group?: MapKey.MapKey | undefined
  readonly notePrefix?: Uint8Array | undefined
  readonly isRekey: boolean
  readonly round?: bigint | undefined
  readonly minRound: bigint
  readonly maxRound: bigint
  readonly beforeMs?: number | undefined
  readonly afterMs?: number | undefined
  readonly amount: AmountFilter
  readonly limit: number
  readonly after?: NextToken.Position | undefined
}

export type AmountFilter = {
  readonly of: 'microAlgos' | 'assetAmount'
  readonly greaterThan?: bigint | undefined
  readonly lessThan?: bigint | undefined
}

/** Parameters that come from the path instead. */
export type Fixed = {
  readonly address?: MapKey.MapKey
  readonly assetId?: bigint
  /** The query parameters that the endpoint ignores. */
  readonly ignores: readonly string[]
}

const limits: Parameters.Limits = { default: 1_000n, max: 10_000n }
const types = ['pay', 'keyreg', 'acfg', 'axfer', 'afrz', 'appl', 'stpf', 'hb']
const signatures = ['sig', 'msig', 'lsig']
const roles = ['sender', 'receiver', 'freeze-target']
const zeroAddress = 'searching transactions by zero address with'

export function read(query: Query, fixed: Fixed): TransactionFilter {
  const reader = new Reader(query, fixed)
  const filter = reader.filter()
  reader.check(filter)
  return filter
}

class Reader {
  readonly #query: Query
  readonly #fixed: Fixed
  readonly #reasons: string[] = []

  constructor(query: Query, fixed: Fixed) {
    this.#query = query
    this.#fixed = fixed
  }

  filter(): TransactionFilter {
    const numbers = this.#numbers()
    const [beforeMs, afterMs] = [
      Parameters.time(this.#query, 'before-time'),
      Parameters.time(this.#query, 'after-time'),
    ]
    const isRekey = this.#query.flag('rekey-to')
    const limit = Parameters.limit(this.#query, limits)
    Parameters.checkInt64(numbers.assetId, numbers.applicationId, numbers.round)
    const role = this.#roles()
    const address = this.#fixed.address ?? this.#address()
    const transactionId = this.#transactionId()
    const notePrefix = this.#base64('note-prefix')
    const group = this.#group()
    const signature = this.#oneOf('sig-type', signatures, (text) => text)
    const type = this.#oneOf('tx-type', types, (text) => text.toLowerCase())
    if (this.#reasons.length > 0) throw invalid(this.#reasons)
    const assetId = creatable(numbers.assetId, numbers.applicationId)
    const of = numbers.assetId !== undefined || type === 'axfer' ? 'assetAmount' : 'microAlgos'
    return {
      address,
      roles: role,
      assetId,
      type,
      signature,
      transactionId,
      group,
      notePrefix,
      isRekey,
      round: numbers.round,
      minRound: numbers.minRound,
      maxRound: numbers.maxRound,
      beforeMs,
      afterMs,
      amount: { of, greaterThan: numbers.greaterThan, lessThan: numbers.lessThan },
      limit,
      after: this.#after(),
    }
  }

  #numbers() {
    const query = this.#query
    return {
      assetId: this.#fixed.assetId ?? query.uint('asset-id'),
      applicationId: this.#uintIfKnown('application-id'),
      round: query.uint('round'),
      minRound: query.uint('min-round') ?? 0n,
      maxRound: query.uint('max-round') ?? 0n,
      greaterThan: query.uint('currency-greater-than'),
      lessThan: query.uint('currency-less-than'),
    }
  }

  check({ minRound, maxRound, round, amount, address = MapKey.zero, roles: mask }: TransactionFilter): void {
    const reasons: string[] = []
    const isTooLarge = (value: bigint | undefined): boolean => value !== undefined && value > Parameters.maxInt64
    if (isTooLarge(minRound) || isTooLarge(maxRound)) reasons.push(Parameters.tooLarge)
    if (amount.of === 'microAlgos' && (isTooLarge(amount.greaterThan) || isTooLarge(amount.lessThan))) {
      reasons.push(Parameters.tooLarge)
    }
    if (round !== undefined && (minRound > 0n || maxRound > 0n)) {
      reasons.push('cannot specify round and min-round/max-round')
    }
    if (round === undefined && maxRound > 0n && minRound > maxRound) {
      reasons.push('min-round must be less than max-round')
    }
    if (address === MapKey.zero) reasons.push(...zeroAddressReasons(mask))
    if (reasons.length > 0) throw invalid(reasons)
  }

  #get(name: string): string | undefined {
    return this.#fixed.ignores.includes(name) ? undefined : this.#query.get(name)
  }

  #uintIfKnown(name: string): bigint | undefined {
    return this.#fixed.ignores.includes(name) ? undefined : this.#query.uint(name)
  }

  #roles(): number {
    const text = this.#get('address-role')
    const excludesCloseTo = this.#fixed.ignores.includes('exclude-close-to') || this.#query.flag('exclude-close-to')
    if (text === undefined) return 0
    switch (text.toLowerCase()) {
      case 'sender':
        return Roles.sender | Roles.assetSender
      case 'receiver': {
        const receivers = Roles.receiver | Roles.assetReceiver
        return excludesCloseTo ? receivers : receivers | Roles.closeTo | Roles.assetCloseTo
      }
      case 'freeze-target':
        return Roles.freezeTarget
      default:
        this.#reasons.push(`unknown address role [valid roles: ${roles.join(', ')}]: '${text.toLowerCase()}'`)
        return 0
    }
  }

  #address(): MapKey.MapKey | undefined {
    const text = this.#get('address')
    if (text === undefined) return undefined
    const parsed = Parameters.parseAddress(text)
    if (typeof parsed === 'string') return parsed
    this.#reasons.push(`unable to parse address: ${parsed.reason}`)
    return undefined
  }

  #transactionId(): string | undefined {
    const text = this.#query.get('txid')
    const position = text === undefined ? undefined : Parameters.invalidBase32At(text)
    if (position === undefined) return text || undefined
    const reason = `illegal base32 data at input byte ${position}`
    this.#reasons.push(`unable to parse base32 digest data 'txid': ${reason}`)
    return undefined
  }

  #base64(name: string): Uint8Array | undefined {
    const text = this.#get(name)
    if (text === undefined) return undefined
    const bytes = Parameters.base64(text)
    if (bytes === undefined) this.#reasons.push(`unable to parse base64 data: '${name}'`)
    return bytes
  }

  #group(): MapKey.MapKey | undefined {
    const bytes = this.#base64('group-id')
    if (bytes === undefined) return undefined
    if (bytes.length !== MapKey.zero.length) this.#reasons.push("bad length for group ID: 'group-id'")
    return MapKey.of(bytes)
  }

  #oneOf(name: string, words: readonly string[], spelling: (text: string) => string): string | undefined {
    const text = this.#query.get(name)
    if (text === undefined) return undefined
    if (words.includes(spelling(text))) return spelling(text)
    this.#reasons.push(`unknown ${name} [valid types: ${words.join(', ')}]: '${text.toLowerCase()}'`)
    return undefined
  }

  #after(): NextToken.Position | undefined {
    const token = this.#query.get('next')
    if (!token) return undefined
    const position = NextToken.readTransaction(token)
    if (position !== undefined) return position
    // The status also matches an indexer.
    const reason = `DecodeTxnRowNext() ${NextToken.reason(token)}`
    throw new ApiError(500, `error while searching for transaction: ${reason}`)
  }
}

/** Applications and assets share their ids, and an indexer's column. */
function creatable(assetId: bigint | undefined, applicationId: bigint | undefined): bigint | undefined {
  if (assetId !== undefined && applicationId !== undefined && assetId !== applicationId) {
    const reason = 'txn query err cannot search both assetid and appid'
    throw new ApiError(500, `error while searching for transaction: ${reason}`)
  }
  return assetId ?? applicationId
}

function zeroAddressReasons(mask: number): string[] {
  const reasons: string[] = []
  if (mask & Roles.closeTo) reasons.push(`${zeroAddress} close address role is not supported`)
  if (mask & Roles.assetSender) reasons.push(`${zeroAddress} asset sender role is not supported`)
  if (mask & Roles.assetCloseTo) reasons.push(`${zeroAddress} asset close address role is not supported`)
  return reasons
}

function invalid(reasons: readonly string[]): ApiError {
  return new ApiError(400, `invalid input: ${reasons.join(', ')}`)
}
