/** Checks the owner's input for an agent. */
import {
  parseRules,
  type Rules,
  RulesError,
  validateExpiry,
  validateKeys,
  validateRules,
} from '@latchkey/kmd-api/rules'
import { normalizeLabel } from '../contacts/Contacts.js'
import { KmdError } from '../errors.js'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a name from bytes and returns it as stored. @throws KmdError `bad_agent` */
export function readName(given: Uint8Array): string {
  let name = ''
  try {
    name = utf8.decode(given)
  } catch {
    // Not UTF-8.
  }
  return checkName(name)
}

/** Returns the name as stored: 1 to 64 visible characters, like labels of addresses. @throws KmdError `bad_agent` */
export function checkName(name: string): string {
  const message = 'name must have 1 to 64 visible characters, and must not be an address'
  const label = normalizeLabel(name)
  if (label === undefined) throw new KmdError('bad_agent', { message })
  return label
}

/** Reads rules from JSON and checks them. @throws KmdError `bad_agent` */
export function readRules(json: unknown): Rules {
  return check(() => {
    const rules = parseRules(json)
    validateRules(rules)
    return rules
  })
}

/** Reads when an agent ends; 0 means never. @throws KmdError `bad_agent` */
export function readExpiry(given: number, nowMs: number): number | undefined {
  const expiresAtMs = given === 0 ? undefined : given
  checkExpiry(expiresAtMs, nowMs)
  return expiresAtMs
}

/** @throws KmdError `bad_agent` */
export function checkRules(rules: Rules): void {
  check(() => validateRules(rules))
}

/** @throws KmdError `bad_agent` */
export function checkKeys(addresses: readonly string[]): void {
  check(() => validateKeys(addresses))
}

/** @throws KmdError `bad_agent` */
export function checkExpiry(expiresAtMs: number | undefined, nowMs: number): void {
  check(() => validateExpiry(expiresAtMs, nowMs))
}

function check<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    throw new KmdError('bad_agent', { message: error.message, cause: error })
  }
}
