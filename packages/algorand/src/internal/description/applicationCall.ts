import { encodeHex } from '#platform'
import * as Bytes from '../Bytes.js'
import type { DescriptionBuilder } from './DescriptionBuilder.js'
import { address, count, list } from './format.js'

const maxListed = 8
const selectorLength = 4

export function applicationCall(tale: DescriptionBuilder): void {
  const { apid = 0n, aprv = 0n } = tale.transaction
  if (apid === 0n) create(tale)
  else act(tale, apid)
  sayArguments(tale)
  sayReferences(tale)
  if (aprv !== 0n) tale.add(`Only if the version of the application is below ${aprv}.`)
}

function create(tale: DescriptionBuilder): void {
  const { apan = 0n, apap, apsu, apgs, apls } = tale.transaction
  const sizes = `approval program ${count(apap?.length ?? 0, 'byte')}, clear program ${count(apsu?.length ?? 0, 'byte')}`
  tale.add(`Creates an application: ${sizes}.`)
  const state = (schema: typeof apgs): string => `${schema?.nui ?? 0n} integers and ${schema?.nbs ?? 0n} byte strings`
  tale.add(`It may keep ${state(apgs)} of its own, and ${state(apls)} for each account that opts in.`)
  if (apan === 1n) tale.add('The sender opts in to it at once.')
  else if (apan === 5n) tale.add('It is deleted again at once.')
  else if (apan !== 0n) {
    tale.warn('It creates an application and does something else with it at once, which is unusual.')
  }
}

type Action = {
  says: (id: bigint, tale: DescriptionBuilder) => string
  warns?: (id: bigint) => string
  isFinal?: boolean
}

/** By the number that says what becomes of the application or of its data for the sender. */
const actions: readonly Action[] = [
  { says: (id) => `Calls application ${id}.` },
  { says: (id) => `Opts in to application ${id}: it may then keep data for the account, which costs minimum balance.` },
  { says: (id) => `Closes out of application ${id}: what it keeps for the account is removed, if it agrees.` },
  {
    says: (id) => `Clears application ${id} out of the account, whether it agrees or not.`,
    warns: (id) => `What application ${id} keeps for the account is lost, and what it owes may be too.`,
  },
  {
    says: (id, { transaction: { apap } }) =>
      `Replaces the program of application ${id} (new approval program: ${count(apap?.length ?? 0, 'byte')}).`,
    warns: (id) => `It updates application ${id}: everybody who uses it runs the new program from then on.`,
  },
  {
    says: (id) => `Deletes application ${id}.`,
    warns: (id) => `It deletes application ${id}: what the application still holds may be out of reach for ever.`,
    isFinal: true,
  },
]

const unknownAction: Action = {
  says: (id, { transaction: { apan } }) => `Does something with application ${id} that is not known here (${apan}).`,
  warns: () => 'What it does cannot be told: do not sign it unless you know by other means.',
  isFinal: true,
}

function act(tale: DescriptionBuilder, id: bigint): void {
  const { apan = 0n } = tale.transaction
  const { says, warns, isFinal } = actions[Number(apan)] ?? unknownAction
  tale.add(says(id, tale))
  if (warns === undefined) return
  if (isFinal) tale.warnFinal(warns(id))
  else tale.warn(warns(id))
}

function sayArguments(tale: DescriptionBuilder): void {
  const given = tale.transaction.apaa ?? []
  const [first] = given
  const isMethod = first?.length === selectorLength
  const method = isMethod ? `; the first one, ${encodeHex(first)}, names the method` : ''
  tale.add(given.length === 0 ? 'It passes no arguments.' : `It passes ${count(given.length, 'argument')}${method}.`)
}

function sayReferences(tale: DescriptionBuilder): void {
  const { apat = [], apas = [], apfa = [], apbx = [], al = [] } = tale.transaction
  const accounts = [...apat, ...al.flatMap(({ d }) => (d === undefined || Bytes.isZero(d) ? [] : [d]))]
  const assets = [...apas, ...al.flatMap(({ s }) => s || [])]
  const applications = [...apfa, ...al.flatMap(({ p }) => p || [])]
  const boxes = apbx.length + al.filter(({ b }) => b !== undefined).length
  if (accounts.length > 0)
    tale.add(`It may look at ${count(accounts.length, 'other account')}: ${some(accounts, address)}.`)
  if (assets.length > 0) tale.add(`It may deal with ${some(assets, (id) => tale.assetName(id))}.`)
  if (applications.length > 0) tale.add(`It may call ${some(applications, (id) => `application ${id}`)}.`)
  if (boxes > 0) tale.add(`It may use ${boxes} of the application's boxes.`)
}

function some<T>(values: readonly T[], text: (value: T) => string): string {
  const shown = values.slice(0, maxListed).map(text)
  const rest = values.length - maxListed
  return list(rest > 0 ? [...shown, `${rest} more`] : shown)
}
