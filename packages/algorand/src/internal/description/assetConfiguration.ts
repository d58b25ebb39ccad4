import * as Amount from '../../Amount.js'
import * as Bytes from '../Bytes.js'
import type { DescriptionBuilder } from './DescriptionBuilder.js'
import { address, list, quoted } from './format.js'

type Parameters = NonNullable<DescriptionBuilder['transaction']['apar']>
type RoleField = 'm' | 'r' | 'f' | 'c'

const roles: readonly { field: RoleField; name: string }[] = [
  { field: 'm', name: 'manager' },
  { field: 'r', name: 'reserve' },
  { field: 'f', name: 'freeze' },
  { field: 'c', name: 'clawback' },
]

export function assetConfiguration(builder: DescriptionBuilder): void {
  const { caid = 0n, apar } = builder.transaction
  if (caid === 0n) describeCreation(builder, apar ?? {})
  else if (apar !== undefined) describeChange(builder, caid, apar)
  else {
    builder.add(`Destroys ${builder.assetName(caid)}.`)
    builder.warnFinal(`It destroys ${builder.assetName(caid)}: this cannot be undone.`)
  }
}

function describeCreation(builder: DescriptionBuilder, parameters: Parameters): void {
  const { t: total = 0n, dc: decimals = 0, un, an, au, df } = parameters
  const name = an === undefined ? 'without a name' : `named ${quoted(an)}`
  const amount =
    decimals > Amount.maxDecimals ? `${Amount.group(String(total))} base units` : Amount.formatGrouped(total, decimals)
  builder.add(
    `Creates an asset ${name}: ${amount}${un === undefined ? '' : ` ${quoted(un)}`} in total, ${decimals} decimals.`,
  )
  if (au !== undefined) builder.add(`Its URL is ${quoted(au)}.`)
  if (df) builder.add('New holdings of it are frozen.')
  describeRoles(builder, parameters)
  const missing = missingRoles(parameters)
  if (missing.length > 0) builder.add(`It has no ${list(missing)} address, and can never have one.`)
}

function describeChange(builder: DescriptionBuilder, id: bigint, parameters: Parameters): void {
  builder.add(`Changes the roles of ${builder.assetName(id)}.`)
  describeRoles(builder, parameters)
  const missing = missingRoles(parameters)
  if (missing.length === 0) return
  builder.add(`Gives up permanently: ${list(missing)}.`)
  const noun = missing.length === 1 ? 'role' : 'roles'
  const consequence = missing.includes('manager') ? ' The asset cannot be changed afterwards.' : ''
  builder.warnFinal(
    `It gives up the ${list(missing)} ${noun} of asset ${id}: an empty role cannot be assigned again.${consequence}`,
  )
}

function describeRoles(builder: DescriptionBuilder, parameters: Parameters): void {
  for (const { field, name } of roles) {
    if (isFilled(parameters[field])) builder.add(`The ${name} address is ${address(parameters[field])}.`)
  }
}

function missingRoles(parameters: Parameters): string[] {
  return roles.filter(({ field }) => !isFilled(parameters[field])).map(({ name }) => name)
}

function isFilled(publicKey: Uint8Array | undefined): boolean {
  return publicKey !== undefined && !Bytes.isZero(publicKey)
}
