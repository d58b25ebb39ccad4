import { encodeHex } from '#platform'
import * as Bytes from '../Bytes.js'
import type { DescriptionBuilder } from './DescriptionBuilder.js'
import { address, count, list, unknownEffect } from './format.js'

const maxListed = 8
const selectorLength = 4

export function applicationCall(builder: DescriptionBuilder): void {
  const { apid = 0n, aprv = 0n } = builder.transaction
  if (apid === 0n) describeCreation(builder)
  else describeAction(builder, apid)
  describeArguments(builder)
  describeReferences(builder)
  if (aprv !== 0n) builder.add(`It is rejected if the version of the application is ${aprv} or higher.`)
}

function describeCreation(builder: DescriptionBuilder): void {
  const { apan = 0n, apap, apsu, apgs, apls } = builder.transaction
  const sizes = `approval program ${count(apap?.length ?? 0, 'byte')}, clear program ${count(apsu?.length ?? 0, 'byte')}`
  builder.add(`Creates an application: ${sizes}.`)
  const state = (schema: typeof apgs): string => `${schema?.nui ?? 0n} integers and ${schema?.nbs ?? 0n} byte strings`
  builder.add(`Its state has room for ${state(apgs)}, and for ${state(apls)} in each account that opts in.`)
  if (apan === 1n) builder.add('The sender opts in to it immediately.')
  else if (apan === 5n) builder.add('It is deleted immediately afterwards.')
  else if (apan !== 0n) {
    builder.warn('It creates an application and performs another action on it immediately, which is unusual.')
  }
}

type Action = {
  describe: (id: bigint, builder: DescriptionBuilder) => string
  warn?: (id: bigint) => string
  isFinal?: boolean
}

/** By the number in the field `apan` (OnCompletion). */
const actions: readonly Action[] = [
  { describe: (id) => `Calls application ${id}.` },
  {
    describe: (id) =>
      `Opts in to application ${id}: it may then store data in the account, which raises the minimum balance.`,
  },
  {
    describe: (id) =>
      `Closes out of application ${id}: its data in the account is removed, if the application approves.`,
  },
  {
    describe: (id) => `Clears the data of application ${id} from the account, even if the application rejects.`,
    warn: (id) =>
      `The data of application ${id} in the account is lost, and what the application owes the account may be lost too.`,
  },
  {
    describe: (id, { transaction: { apap } }) =>
      `Replaces the program of application ${id} (new approval program: ${count(apap?.length ?? 0, 'byte')}).`,
    warn: (id) => `It updates application ${id}: every later call runs the new program.`,
  },
  {
    describe: (id) => `Deletes application ${id}.`,
    warn: (id) => `It deletes application ${id}: what its account still holds may be lost permanently.`,
    isFinal: true,
  },
]

const unknownAction: Action = {
  describe: (id, { transaction: { apan } }) => `Performs an unknown action (${apan}) on application ${id}.`,
  warn: () => unknownEffect,
  isFinal: true,
}

function describeAction(builder: DescriptionBuilder, id: bigint): void {
  const { apan = 0n } = builder.transaction
  const { describe, warn, isFinal } = actions[Number(apan)] ?? unknownAction
  builder.add(describe(id, builder))
  if (warn === undefined) return
  if (isFinal) builder.warnFinal(warn(id))
  else builder.warn(warn(id))
}

function describeArguments(builder: DescriptionBuilder): void {
  const given = builder.transaction.apaa ?? []
  const [first] = given
  const isMethod = first?.length === selectorLength
  const method = isMethod ? `; the first one, ${encodeHex(first)}, names the method` : ''
  builder.add(given.length === 0 ? 'It passes no arguments.' : `It passes ${count(given.length, 'argument')}${method}.`)
}

function describeReferences(builder: DescriptionBuilder): void {
  const { apat = [], apas = [], apfa = [], apbx = [], al = [] } = builder.transaction
  const accounts = [...apat, ...al.flatMap(({ d }) => (d === undefined || Bytes.isZero(d) ? [] : [d]))]
  const assets = [...apas, ...al.flatMap(({ s }) => s || [])]
  const applications = [...apfa, ...al.flatMap(({ p }) => p || [])]
  const boxes = apbx.length + al.filter(({ b }) => b !== undefined).length
  if (accounts.length > 0)
    builder.add(`It may access ${count(accounts.length, 'other account')}: ${some(accounts, address)}.`)
  if (assets.length > 0) builder.add(`It may use ${some(assets, (id) => builder.assetName(id))}.`)
  if (applications.length > 0) builder.add(`It may call ${some(applications, (id) => `application ${id}`)}.`)
  if (boxes > 0) builder.add(`It may use ${boxes} of the application's boxes.`)
}

function some<T>(values: readonly T[], text: (value: T) => string): string {
  const shown = values.slice(0, maxListed).map(text)
  const rest = values.length - maxListed
  return list(rest > 0 ? [...shown, `${rest} more`] : shown)
}
