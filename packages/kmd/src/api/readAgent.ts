/** Reads the owner's input for an agent. Each error names the invalid member and states what it must be. */
import { Address, Bytes } from '@latchkey/algorand'
import { Schemas } from '@latchkey/kmd-api'
import type { Limit, NetworkItem, Period, Rules } from '../agents/Agent.js'
import * as Label from '../contacts/Label.js'
import { KmdError } from '../errors.js'

const { mostKeys } = Schemas
type RulesInput = Schemas.RulesInput

export const defaultMaxFeeMicroAlgos = 10_000n
/** The maximum that the protocol allows. */
export const maxValidRounds = 1_000

const periods: readonly Period[] = ['payment', 'hour', 'day', 'week', '30days', 'total']
/** The maximum that the database can store. */
const maxInteger = 2n ** 63n - 1n
const maxCount = 1_000_000_000
/** The latest time that a JavaScript date can represent. */
const maxTimeMs = 8_640_000_000_000_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** 1 to 64 visible characters, like labels of addresses. */
export function readName(given: Uint8Array): string {
  let name: string | undefined
  try {
    name = Label.normalize(utf8.decode(given))
  } catch {
    // Not UTF-8.
  }
  return name ?? bad('name', 'must have 1 to 64 characters, none of them invisible, and be no address')
}

export function readAddresses(given: readonly string[]): string[] {
  if (given.length === 0) bad('addresses', 'must name at least one key of the wallet')
  if (given.length > mostKeys) bad('addresses', `is too long, must be <= ${mostKeys}`)
  return readUnique('addresses', given)
}

/** 0 means never. */
export function readExpiry(given: number, nowMs: number): number | undefined {
  if (given === 0) return undefined
  if (given > maxTimeMs) bad('expires_at_ms', 'is too late: give milliseconds since 1970, or 0 for never')
  if (given <= nowMs) bad('expires_at_ms', 'is in the past: give milliseconds since 1970, or 0 for never')
  return given
}

export function readRules(given: RulesInput): Rules {
  const networks = readNetworks(given.networks)
  const known = new Set(networks)
  return {
    networks,
    limits: readLimits(given.limits, known),
    payees: readPayees(given.payees),
    applications: readItems('rules.applications', given.applications, known),
    optIns: readItems('rules.opt_ins', given.opt_ins, known),
    dollars: readItems('rules.dollars', given.dollars, known),
    maxFeeMicroAlgos:
      given.max_fee_micro_algos === ''
        ? defaultMaxFeeMicroAlgos
        : readInteger('rules.max_fee_micro_algos', given.max_fee_micro_algos),
    maxValidRounds: readValidRounds(given.max_valid_rounds),
    ask: {
      above: given.ask.above.map((threshold, index) => {
        const member = `rules.ask.above[${index}]`
        return {
          network: requireKnown(`${member}.network`, threshold.network, known),
          assetId: readAssetId(`${member}.asset_id`, threshold.asset_id),
          amount: readInteger(`${member}.amount`, threshold.amount),
        }
      }),
      overLimit: given.ask.over_limit,
      unknownPayee: given.ask.unknown_payee,
      otherTypes: given.ask.other_types,
    },
  }
}

function readNetworks(given: readonly string[]): string[] {
  if (given.length === 0) bad('rules.networks', 'must name at least one network, by its genesis hash in base64')
  for (const [index, network] of given.entries()) {
    const hash = Bytes.fromBase64(network)
    if (hash?.length !== 32 || Bytes.toBase64(hash) !== network) {
      bad(`rules.networks[${index}]`, 'must be a genesis hash: 32 bytes in base64')
    }
  }
  if (new Set(given).size < given.length) bad('rules.networks', 'has a network twice')
  return [...given]
}

type LimitInput = RulesInput['limits'][number]

function readLimits(given: readonly LimitInput[], networks: ReadonlySet<string>): Limit[] {
  const limits = given.map((limit, index) => readLimit(`rules.limits[${index}]`, limit, networks))
  if (!limits.some(({ type }) => type === 'amount')) {
    bad('rules.limits', 'must have at least one limit of an amount: without one nothing can be spent')
  }
  const seen = new Map<string, number>()
  for (const [index, limit] of limits.entries()) {
    const asset = limit.type === 'amount' ? limit.assetId : 'count'
    const key = [limit.per, limit.network, asset, limit.payee].join(' ')
    const earlier = seen.get(key)
    if (earlier !== undefined) bad(`rules.limits[${index}]`, `limits the same as rules.limits[${earlier}]`)
    seen.set(key, index)
  }
  return limits
}

function readLimit(member: string, given: LimitInput, networks: ReadonlySet<string>): Limit {
  const per = periods.find((period) => period === given.per) ?? bad(`${member}.per`, `must be ${periods.join(', ')}`)
  const network = requireKnown(`${member}.network`, given.network, networks)
  const payee = given.payee === '' ? {} : { payee: readAddress(`${member}.payee`, given.payee) }
  const base = { per, network, ...payee }
  if (given.type === 'amount') {
    if (given.count !== 0) bad(`${member}.count`, 'is for limits of the type count')
    const assetId = readAssetId(`${member}.asset_id`, given.asset_id)
    return { ...base, type: 'amount', assetId, amount: readInteger(`${member}.amount`, given.amount) }
  }
  if (given.type !== 'count') bad(`${member}.type`, 'must be amount or count')
  if (per === 'payment') bad(`${member}.per`, 'cannot be payment for a count')
  if (given.amount !== '' || given.asset_id !== '') bad(`${member}.amount`, 'is for limits of the type amount')
  if (given.count > maxCount) bad(`${member}.count`, `must be <= ${maxCount}`)
  return { ...base, type: 'count', count: given.count }
}

function readPayees(given: RulesInput['payees']): Rules['payees'] {
  const deny = readUnique('rules.payees.deny', given.deny)
  if (!given.allow_all) return { allow: readUnique('rules.payees.allow', given.allow), deny }
  if (given.allow.length > 0) bad('rules.payees.allow', 'must be absent where allow_all is true')
  return { allow: undefined, deny }
}

function readItems(
  member: string,
  given: readonly { network: string; id: string }[],
  networks: ReadonlySet<string>,
): NetworkItem[] {
  return given.map((item, index) => {
    const id = readInteger(`${member}[${index}].id`, item.id)
    if (id === 0n) bad(`${member}[${index}].id`, 'must not be 0')
    return { network: requireKnown(`${member}[${index}].network`, item.network, networks), id }
  })
}

function readValidRounds(given: number): number {
  if (given > maxValidRounds) bad('rules.max_valid_rounds', `must be <= ${maxValidRounds}`)
  return given === 0 ? maxValidRounds : given
}

function readUnique(member: string, given: readonly string[]): string[] {
  for (const [index, address] of given.entries()) readAddress(`${member}[${index}]`, address)
  if (new Set(given).size < given.length) bad(member, 'has an address twice')
  return [...given]
}

function readAddress(member: string, given: string): string {
  return Address.isValid(given) ? given : bad(member, 'must be an address of 58 characters')
}

function requireKnown(member: string, network: string, networks: ReadonlySet<string>): string {
  return networks.has(network) ? network : bad(member, 'must be one of rules.networks')
}

/** Blank means Algos. */
function readAssetId(member: string, given: string): bigint {
  return given === '' ? 0n : readInteger(member, given)
}

function readInteger(member: string, given: string): bigint {
  const value = /^[0-9]{1,20}$/.test(given) ? BigInt(given) : undefined
  if (value === undefined || value > maxInteger)
    return bad(member, 'must be a whole number below 2^63, as decimal text')
  return value
}

function bad(member: string, problem: string): never {
  throw new KmdError('bad_agent', { message: `${member} ${problem}` })
}
