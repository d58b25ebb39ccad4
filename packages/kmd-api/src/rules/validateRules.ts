/** Checks what rules mean. Meaningless rules are rejected instead of ignored. */
import { Address, Bytes } from '@latchkey/algorand'
import { bounds } from './bounds.js'
import {
  boundsSum,
  fail,
  formatLimit,
  keyOf,
  type Limit,
  type NetworkItem,
  publicDollar,
  type Rules,
  RulesError,
} from './Rules.js'
import { periods } from './SpendLimit.js'

/**
 * Checks rules. The paths in errors are those of the rules as JSON.
 *
 * @throws RulesError that names the invalid member
 */
export function validateRules(rules: Rules): void {
  const { networks, payees, ask } = rules
  checkNetworks(networks)
  checkLimits(rules)
  if (payees.allow !== 'all') checkAddresses('rules.payees.allow', payees.allow, bounds.payees)
  checkAddresses('rules.payees.deny', payees.deny, bounds.payees)
  checkItems('rules.applications', rules.applications, networks)
  checkItems('rules.opt_ins', rules.optIns, networks)
  checkDollars(rules.dollars, networks)
  if (rules.maxFeeMicroAlgos < 0n || rules.maxFeeMicroAlgos > bounds.feeMicroAlgos) {
    fail('rules.max_fee_micro_algos', `must be <= ${bounds.feeMicroAlgos}`)
  }
  if (!isWhole(rules.maxValidRounds, 1, bounds.validRounds)) {
    fail('rules.max_valid_rounds', `must be <= ${bounds.validRounds}`)
  }
  checkLength('rules.ask.above', ask.above, bounds.thresholds)
  for (const [index, { network, assetId, amount }] of ask.above.entries()) {
    const path = `rules.ask.above[${index}]`
    checkKnown(`${path}.network`, network, networks)
    checkInteger(`${path}.asset_id`, assetId)
    checkInteger(`${path}.amount`, amount)
  }
}

/** Checks the keys that an agent may use. @throws RulesError */
export function validateKeys(addresses: readonly string[]): void {
  if (addresses.length === 0) fail('addresses', 'must name at least one key of the wallet')
  checkAddresses('addresses', addresses, bounds.keys)
}

/** Checks when an agent ends. @throws RulesError */
export function validateExpiry(expiresAtMs: number | undefined, nowMs: number): void {
  if (expiresAtMs === undefined) return
  const give = 'give milliseconds since 1970, or 0 for never'
  if (!isWhole(expiresAtMs, 1, bounds.timeMs)) fail('expires_at_ms', `is too late: ${give}`)
  if (expiresAtMs <= nowMs) fail('expires_at_ms', `is in the past: ${give}`)
}

function checkNetworks(networks: readonly string[]): void {
  const path = 'rules.networks'
  if (networks.length === 0) fail(path, 'must name at least one network, by its genesis hash in base64')
  checkLength(path, networks, bounds.networks)
  for (const [index, network] of networks.entries()) {
    const hash = Bytes.fromBase64(network)
    // Networks are compared as text, so that each may have one spelling only.
    if (hash?.length !== 32 || Bytes.toBase64(hash) !== network) {
      fail(`${path}[${index}]`, 'must be a genesis hash: 32 bytes in base64')
    }
  }
  if (new Set(networks).size < networks.length) fail(path, 'contains a network twice')
}

function checkLimits(rules: Rules): void {
  const { limits } = rules
  checkLength('rules.limits', limits, bounds.limits)
  const seen = new Map<string, number>()
  for (const [index, limit] of limits.entries()) {
    const path = `rules.limits[${index}]`
    checkLimit(path, limit, rules.networks)
    const earlier = seen.get(keyOf(limit))
    if (earlier !== undefined) fail(path, `restricts the same period, asset and payee as rules.limits[${earlier}]`)
    seen.set(keyOf(limit), index)
  }
  if (!limits.some(({ type }) => type === 'amount')) {
    fail('rules.limits', 'must contain at least one limit on an amount: without one nothing can be spent')
  }
  for (const [index, limit] of limits.entries()) {
    if (limit.per !== 'payment' || limits.some((other) => boundsSum(other, limit))) continue
    const message = `"${formatLimit(limit, rules.dollars)}" does not limit the total; add a limit per hour, day, week, 30days or total`
    throw new RulesError(`rules.limits[${index}]`, message)
  }
}

function checkLimit(path: string, limit: Limit, networks: readonly string[]): void {
  if (!periods.includes(limit.per)) fail(`${path}.per`, `must be ${periods.join(', ')}`)
  checkKnown(`${path}.network`, limit.network, networks)
  if (limit.payee !== undefined) checkAddress(`${path}.payee`, limit.payee)
  if (limit.type === 'amount') {
    checkInteger(`${path}.asset_id`, limit.assetId)
    checkInteger(`${path}.amount`, limit.amount)
    return
  }
  if (limit.per === 'payment') fail(`${path}.per`, 'cannot be payment for a count')
  if (!isWhole(limit.count, 0, bounds.count)) fail(`${path}.count`, `must be <= ${bounds.count}`)
}

/** The notation of limits depends on dollars, so each must be unambiguous. */
function checkDollars(dollars: readonly NetworkItem[], networks: readonly string[]): void {
  const path = 'rules.dollars'
  checkItems(path, dollars, networks, bounds.networks)
  for (const [index, { network, id }] of dollars.entries()) {
    const known = publicDollar(network) ?? id
    if (known !== id) throw new RulesError(`${path}[${index}].id`, `the dollar asset of this network is ${known}`)
  }
  if (new Set(dollars.map(({ network }) => network)).size !== dollars.length) {
    throw new RulesError(path, 'a network has at most one dollar asset')
  }
}

function checkItems(
  path: string,
  items: readonly NetworkItem[],
  networks: readonly string[],
  max: number = bounds.items,
): void {
  checkLength(path, items, max)
  for (const [index, { network, id }] of items.entries()) {
    checkInteger(`${path}[${index}].id`, id)
    if (id === 0n) fail(`${path}[${index}].id`, 'must not be 0')
    checkKnown(`${path}[${index}].network`, network, networks)
  }
}

function checkAddresses(path: string, addresses: readonly string[], max: number): void {
  checkLength(path, addresses, max)
  for (const [index, address] of addresses.entries()) checkAddress(`${path}[${index}]`, address)
  if (new Set(addresses).size < addresses.length) fail(path, 'contains an address twice')
}

function checkAddress(path: string, address: string): void {
  if (!Address.isValid(address)) fail(path, 'must be an address of 58 characters')
}

function checkKnown(path: string, network: string, networks: readonly string[]): void {
  if (!networks.includes(network)) fail(path, 'must be one of rules.networks')
}

function checkInteger(path: string, value: bigint): void {
  if (value < 0n || value > bounds.integer) fail(path, 'must be a whole number below 2^63, as decimal text')
}

function checkLength(path: string, list: readonly unknown[], max: number): void {
  if (list.length > max) fail(path, `is too long, must be <= ${max}`)
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max
}
