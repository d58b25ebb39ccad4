import * as Bytes from '../Bytes.js'
import { address, decimal, list, quoted } from './Plain.js'
import type { Tale } from './Tale.js'

type Parameters = NonNullable<Tale['transaction']['apar']>
type RoleField = 'm' | 'r' | 'f' | 'c'

const roles: readonly { field: RoleField; name: string }[] = [
  { field: 'm', name: 'manager' },
  { field: 'r', name: 'reserve' },
  { field: 'f', name: 'freeze' },
  { field: 'c', name: 'clawback' },
]
const maxDecimals = 19

export function assetConfiguration(tale: Tale): void {
  const { caid = 0n, apar } = tale.transaction
  if (caid === 0n) create(tale, apar ?? {})
  else if (apar !== undefined) reconfigure(tale, caid, apar)
  else {
    tale.say(`Destroys ${tale.assetName(caid)}.`)
    tale.warnFinal(`It destroys ${tale.assetName(caid)}: there is no way back.`)
  }
}

function create(tale: Tale, parameters: Parameters): void {
  const { t: total = 0n, dc: decimals = 0, un, an, au, df } = parameters
  const name = an === undefined ? 'without a name' : `named ${quoted(an)}`
  const amount = decimals > maxDecimals ? `${total} base units` : decimal(total, decimals)
  tale.say(
    `Creates an asset ${name}: ${amount}${un === undefined ? '' : ` ${quoted(un)}`} in all, ${decimals} decimals.`,
  )
  if (au !== undefined) tale.say(`It points to ${quoted(au)}.`)
  if (df) tale.say('Every holding of it begins frozen.')
  sayRoles(tale, parameters)
  const missing = missingRoles(parameters)
  if (missing.length > 0) tale.say(`It has no ${list(missing)} address, and can never have one.`)
}

function reconfigure(tale: Tale, id: bigint, parameters: Parameters): void {
  tale.say(`Changes who may do what with ${tale.assetName(id)}.`)
  sayRoles(tale, parameters)
  const missing = missingRoles(parameters)
  if (missing.length === 0) return
  tale.say(`Gives up for ever: ${list(missing)}.`)
  const roleWord = missing.length === 1 ? 'role' : 'roles'
  const frozen = missing.includes('manager') ? ' Nothing about the asset can be changed after that.' : ''
  tale.warnFinal(
    `It gives up the ${list(missing)} ${roleWord} of asset ${id}: once left blank, a role cannot be filled again.${frozen}`,
  )
}

function sayRoles(tale: Tale, parameters: Parameters): void {
  for (const { field, name } of roles) {
    if (isFilled(parameters[field])) tale.say(`The ${name} address is ${address(parameters[field])}.`)
  }
}

function missingRoles(parameters: Parameters): string[] {
  return roles.filter(({ field }) => !isFilled(parameters[field])).map(({ name }) => name)
}

function isFilled(publicKey: Uint8Array | undefined): boolean {
  return publicKey !== undefined && !Bytes.isZero(publicKey)
}
