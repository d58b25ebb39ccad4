/** The settings of a seller, read in one place. */
import { Address } from '@latchkey/algorand'

export type SellerSettings = {
  /** AVM_ADDRESS: who is paid. */
  readonly payTo: string
  /** FACILITATOR_URL: who settles. */
  readonly facilitatorUrl: string
}

/** Throws a SettingsError that names what is missing or wrong. */
export function sellerSettings(
  environment: { readonly [name: string]: string | undefined } = process.env,
): SellerSettings {
  const required = { AVM_ADDRESS: 'the address that is paid', FACILITATOR_URL: 'the address of the facilitator' }
  const missing = Object.entries(required).filter(([name]) => (environment[name] ?? '').trim() === '')
  if (missing.length > 0) {
    const list = missing.map(([name, meaning]) => `${name} (${meaning})`).join(' and ')
    throw new SettingsError(`${list} must be set in the environment`)
  }
  const payTo = environment['AVM_ADDRESS']!.trim()
  const facilitatorUrl = environment['FACILITATOR_URL']!.trim()
  if (!Address.isValid(payTo)) throw new SettingsError('AVM_ADDRESS is not an Algorand address')
  if (!/^https?:$/.test(protocolOf(facilitatorUrl))) throw new SettingsError('FACILITATOR_URL is not an http address')
  return { payTo, facilitatorUrl }
}

function protocolOf(url: string): string {
  try {
    return new URL(url).protocol
  } catch {
    return ''
  }
}

export class SettingsError extends Error {
  override name = 'SettingsError'
}
