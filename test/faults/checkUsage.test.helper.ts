/** Checks what was charged for goods sold by usage against what handlers did and buyers got. */
import type { Happening, LedgerLine, Line } from './history.test.helper.js'
import { groupBy, type Problem } from './rules.test.helper.js'

type LineOf<Type extends Happening['type']> = Line & Extract<Happening, { type: Type }>

type Use = {
  readonly id: string
  /** The amount on the ledger. */
  readonly charged: string | undefined
  readonly used: readonly LineOf<'used'>[]
  readonly received: readonly LineOf<'received'>[]
  readonly answers: readonly LineOf<'answer'>[]
  readonly settled: readonly LineOf<'settle'>[]
}

export function checkUsage(lines: readonly Line[], payments: ReadonlyMap<string, LedgerLine>): Problem[] {
  return usesOf(lines, payments).flatMap((use) => [...checkUsed(use), ...checkDelivered(use), ...checkReplicas(use)])
}

/** Returns every authorization that was used or charged. */
function usesOf(lines: readonly Line[], payments: ReadonlyMap<string, LedgerLine>): Use[] {
  const byId = <Type extends Happening['type']>(type: Type): Map<string, LineOf<Type>[]> => {
    const own = lines.filter((line): line is LineOf<Type> => line.type === type)
    return groupBy(own, (line) => (line as unknown as { transactionId: string }).transactionId)
  }
  const [used, received, answers, settled] = [byId('used'), byId('received'), byId('answer'), byId('settle')]
  const isAuthorization = (id: string): boolean => id.startsWith('upto-')
  const ids = new Set([...used.keys(), ...[...payments.keys()].filter(isAuthorization)])
  return [...ids].map((id) => ({
    id,
    charged: payments.get(id)?.amount,
    used: used.get(id) ?? [],
    received: received.get(id) ?? [],
    answers: answers.get(id) ?? [],
    settled: settled.get(id) ?? [],
  }))
}

/** What a gate that is killed loses of a stream, by docs/schemes/upto.md: what was used since it stored a charge. */
const lostMs = 11_000

/** An authorization is charged an amount that its handler set, and a stream is charged for everything that was sent. */
function checkUsed({ id, charged, used, received, answers }: Use): Problem[] {
  if (charged !== undefined && !used.some(({ charge }) => charge === charged)) {
    return [{ rule: 'charged and not used', text: `${id}: ${charged}, used was ${used.map(({ charge }) => charge)}` }]
  }
  const got = [...received, ...answers].reduce((most, { charge }) => max(most, BigInt(charge ?? 0n)), 0n)
  if (BigInt(charged ?? 0n) >= got) return []
  const [stored, last] = [charged, String(got)].map((amount) => used.find(({ charge }) => charge === amount))
  if (stored?.isStream && last !== undefined && last.atMs - stored.atMs <= lostMs) return []
  return [{ rule: 'used and not charged', text: `${id}: ${charged ?? 0}, its buyer received ${got}` }]
}

/** A complete answer was charged exactly. */
function checkDelivered({ id, charged = '0', answers }: Use): Problem[] {
  const wrong = answers.find(({ charge }) => charge !== charged)
  if (wrong === undefined) return []
  return [{ rule: 'charged other than delivered', text: `${id}: ${charged}, the answer says ${wrong.charge}` }]
}

/** Each replica names the amount that is on the ledger. */
function checkReplicas({ id, charged = '0', settled }: Use): Problem[] {
  const wrong = settled.find(({ success, charge }) => success && charge !== charged)
  if (wrong === undefined) return []
  const text = `${id}: ${charged}, ${wrong.process} answered ${wrong.charge}`
  return [{ rule: 'charged other than answered by a replica', text }]
}

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
