import * as Bytes from '../Bytes.js'
import type { DescriptionBuilder } from './DescriptionBuilder.js'
import { address, decimal, list, quoted } from './format.js'

type Parameters = NonNullable<DescriptionBuilder['transaction']['apar']>
type RoleField = 'm' | 'r' | 'f' | 'c'

const roles: readonly { field: RoleField; name: string }[] = [
  { field: 'm', name: 'manager' },
  { field: 'r', name: 'reserve' },
  { field: 'f', name: 'freeze' },
  { field: 'c', name: 'clawback' },
]
const maxDecimals = 19

export function assetConfiguration(tale: DescriptionBuilder): void {
  const { caid = 0n, apar } = tale.transaction
  if (caid === 0n) create(tale, apar ?? {})
  else if (apar !== undefined) reconfigure(tale, caid, apar)
  else {
    tale.add(`Destroys ${tale.assetName(caid)}.`)
    tale.warnFinal(`It destroys ${tale.assetName(caid)}: there is no way back.`)
  }
}

function create(tale: DescriptionBuilder, parameters: Parameters): void {
  const { t: total = 0n, dc: decimals = 0, un, an, au, df } = parameters
  const name = an === undefined ? 'without a name' : `named ${quoted(an)}`
  const amount = decimals > maxDecimals ? `${total} base units` : decimal(total, decimals)
  tale.add(
    `Creates an asset ${name}: ${amount}${un === undefined ? '' : ` ${quoted(un)}`} in all, ${decimals} decimals.`,
  )
  if (au !== undefined) tale.add(`It points to ${quoted(au)}.`)
  if (df) tale.add('Every holding of it begins frozen.')
  sayRoles(tale, parameters)
  const missing = missingRoles(parameters)
  if (missing.length > 0) tale.add(`It has no ${list(missing)} address, and can never have one.`)
}

function reconfigure(tale: DescriptionBuilder, id: bigint, parameters: Parameters): void {
  tale.add(`Changes who may do what with ${tale.assetName(id)}.`)
  sayRoles(tale, parameters)
  const missing = missingRoles(parameters)
  if (missing.length === 0) return
  tale.add(`Gives up for ever: ${list(missing)}.`)
  const roleWord = missing.length === 1 ? 'role' : 'roles'
  const frozen = missing.includes('manager') ? ' Nothing about the asset can be changed after that.' : ''
  tale.warnFinal(
    `It gives up the ${list(missing)} ${roleWord} of asset ${id}: once left blank, a role cannot be filled again.${frozen}`,
  )
}

function sayRoles(tale: DescriptionBuilder, parameters: Parameters): void {
  for (const { field, name } of roles) {
    if (isFilled(parameters[field])) tale.add(`The ${name} address is ${address(parameters[field])}.`)
  }
}

function missingRoles(parameters: Parameters): string[] {
  return roles.filter(({ field }) => !isFilled(parameters[field])).map(({ name }) => name)
}

function isFilled(publicKey: Uint8Array | undefined): boolean {
  return publicKey !== undefined && !Bytes.isZero(publicKey)
}
