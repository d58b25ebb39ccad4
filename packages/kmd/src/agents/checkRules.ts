/**
 * Checks the rules that the owner grants. Everything has a bound, and meaningless rules are rejected instead of
 * ignored.
 */
import { Address, Bytes } from '@latchkey/algorand'
import * as Label from '../contacts/Label.js'
import { KmdError } from '../errors.js'
import type { Limit, NetworkItem, Period, Rules } from './Agent.js'
import { limitText, publicDollar } from './limitText.js'
import { maxInteger } from './PaymentFacts.js'

const periods: readonly Period[] = ['payment', 'hour', 'day', 'week', '30days', 'total']
const most = { networks: 16, limits: 100, payees: 1_000, items: 100, keys: 100 }
const maxCount = 2 ** 31
/** No network accepts a longer validity. */
const maxValidRounds = 1_000
/** Ten Algos: ten thousand times the usual fee. */
const maxFee = 10_000_000n

/** @throws KmdError `bad_agent` */
export function checkRules(rules: Rules): void {
  const { networks, limits, payees, applications, optIns, dollars, ask } = rules
  requireCount('networks', networks, most.networks)
  if (networks.length === 0) throw bad('an agent needs at least one network')
  for (const network of networks) {
    if (Bytes.fromBase64(network)?.length !== 32) throw bad('a network is its genesis hash in base64')
  }
  requireCount('limits', limits, most.limits)
  for (const limit of limits) checkLimit(limit, rules)
  for (const list of [payees.allow ?? [], payees.deny]) {
    requireCount('payees', list, most.payees)
    for (const payee of list) requireAddress(payee)
  }
  for (const list of [applications, optIns, ask.above]) requireCount('entries of one rule', list, most.items)
  for (const item of [...applications, ...optIns]) checkItem(item, networks)
  checkDollars(dollars, networks)
  for (const { network, assetId, amount } of ask.above) {
    requireAmount(amount)
    if (assetId !== 0n) checkItem({ network, id: assetId }, networks)
    else requireNetwork(network, networks)
  }
  if (rules.maxFeeMicroAlgos < 0n || rules.maxFeeMicroAlgos > maxFee) throw bad('the highest fee is from 0 to 10 ALGO')
  if (!isInteger(rules.maxValidRounds, 1, maxValidRounds)) throw bad('the validity is from 1 to 1000 rounds')
}

/** Returns the name as stored. @throws KmdError `bad_agent` */
export function checkName(name: string): string {
  const label = Label.normalize(name)
  if (label === undefined) throw bad('a name has 1 to 64 visible characters, and is no address')
  return label
}

/** @throws KmdError `bad_agent` */
export function checkAddresses(addresses: readonly string[]): void {
  if (addresses.length === 0) throw bad('an agent needs at least one key')
  requireCount('keys', addresses, most.keys)
  for (const address of addresses) requireAddress(address)
  if (new Set(addresses).size !== addresses.length) throw bad('a key is named twice')
}

/** @throws KmdError `bad_agent` */
export function checkExpiry(expiresAtMs: number | undefined, nowMs: number): void {
  if (expiresAtMs === undefined) return
  if (!isInteger(expiresAtMs, 1, Number.MAX_SAFE_INTEGER)) throw bad('the end is a time in milliseconds')
  if (expiresAtMs <= nowMs) throw bad('the end is in the past')
}

function checkLimit(limit: Limit, { networks, limits, dollars }: Rules): void {
  requireNetwork(limit.network, networks)
  if (!periods.includes(limit.per)) throw bad(`a period is one of ${periods.join(', ')}`)
  if (limit.payee !== undefined) requireAddress(limit.payee)
  if (limit.type === 'count') {
    if (!isInteger(limit.count, 0, maxCount)) throw bad('a number of payments is a whole number')
    if (limit.per === 'payment') throw bad('a number of payments needs a period')
    return
  }
  requireAmount(limit.amount)
  if (limit.assetId < 0n || limit.assetId > maxInteger) throw bad('an asset id is a positive number')
  if (limit.per === 'payment' && !limits.some((other) => bounds(other, limit))) {
    throw bad(
      `"${limitText(limit, dollars)}" does not bound what is spent in all; add a limit per hour, day, week, 30days or total`,
    )
  }
}

/** Whether a limit bounds the sum of payments that `each` allows one by one. */
function bounds(other: Limit, each: Limit & { type: 'amount' }): boolean {
  if (other.per === 'payment' || other.network !== each.network) return false
  if (other.payee !== undefined && other.payee !== each.payee) return false
  return other.type === 'count' || other.assetId === each.assetId
}

/** The notation of limits depends on dollars, so each must be unambiguous. */
function checkDollars(dollars: readonly NetworkItem[], networks: readonly string[]): void {
  requireCount('dollars', dollars, most.networks)
  for (const dollar of dollars) {
    checkItem(dollar, networks)
    const known = publicDollar(dollar.network) ?? dollar.id
    if (known !== dollar.id) throw bad(`the dollar of this network is asset ${known}`)
  }
  if (new Set(dollars.map(({ network }) => network)).size !== dollars.length) {
    throw bad('a network has at most one dollar')
  }
}

function checkItem({ network, id }: NetworkItem, networks: readonly string[]): void {
  requireNetwork(network, networks)
  if (id <= 0n || id > maxInteger) throw bad('an id of an asset or an application is a positive number')
}

function requireNetwork(network: string, networks: readonly string[]): void {
  if (!networks.includes(network)) throw bad('a rule is for a network that is not among those of the agent')
}

function requireAmount(amount: bigint): void {
  if (amount < 0n || amount > maxInteger) throw bad('an amount is too large')
}

function requireAddress(address: string): void {
  if (!Address.isValid(address)) throw bad('an address is not valid')
}

function requireCount(what: string, list: readonly unknown[], limit: number): void {
  if (list.length > limit) throw bad(`too many ${what}, must be <= ${limit}`)
}

function isInteger(value: number, least: number, largest: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= largest
}

function bad(message: string): KmdError {
  return new KmdError('bad_agent', { message })
}
