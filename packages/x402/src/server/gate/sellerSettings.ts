import { Address, Bytes } from '@latchkey/algorand'
import { PartyError } from '../../errors.js'

/** A seller's settings from the environment. */
export type SellerSettings = {
  /** AVM_ADDRESS: the address that is paid. */
  readonly payTo: string
  /** FACILITATOR_URL: the facilitator that settles. */
  readonly facilitatorUrl: string
}

/**
 * Reads AVM_ADDRESS and FACILITATOR_URL.
 *
 * @param environment by default that of the process
 * @throws {@link SettingsError} that names the missing or invalid variable
 */
export function sellerSettings(
  environment: { readonly [name: string]: string | undefined } = globalThis.process?.env ?? {},
): SellerSettings {
  const required = { AVM_ADDRESS: 'the address to be paid', FACILITATOR_URL: 'the URL of the facilitator' }
  const missing = Object.entries(required).filter(([name]) => (environment[name] ?? '').trim() === '')
  if (missing.length > 0) {
    const list = missing.map(([name, meaning]) => `${name} (${meaning})`).join(' and ')
    throw new SettingsError('missing_setting', `not set in the environment: ${list}`)
  }
  const payTo = environment['AVM_ADDRESS']!.trim()
  const facilitatorUrl = environment['FACILITATOR_URL']!.trim()
  if (!Address.isValid(payTo)) {
    throw new SettingsError('invalid_setting', 'AVM_ADDRESS is not an Algorand address')
  }
  if (Bytes.isZero(Address.decode(payTo))) {
    const message = 'AVM_ADDRESS is the zero address, which has no key: payments to it are lost'
    throw new SettingsError('invalid_setting', message)
  }
  if (!/^https?:$/.test(protocolOf(facilitatorUrl))) {
    throw new SettingsError('invalid_setting', 'FACILITATOR_URL is not an http or https URL')
  }
  return { payTo, facilitatorUrl }
}

function protocolOf(url: string): string {
  try {
    return new URL(url).protocol
  } catch {
    return ''
  }
}

/** An environment variable that is missing or wrong. */
export class SettingsError extends PartyError<'missing_setting' | 'invalid_setting'> {
  override name = 'SettingsError'
}
