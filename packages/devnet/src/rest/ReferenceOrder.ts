/**
 * The order in which a simulation reports unnamed resources.
 *
 * A node lists them in the order of a Go map, which is random and differs with every request. Clients add them to the
 * calls of the group in that order, greedily, so a few orders fail although the references fit. On a node, such a group
 * succeeds in most attempts; with one fixed order it always fails. No order by ids alone suits all groups: a box of
 * another application needs two places, and whether the last free place of a call is one of them depends on all
 * references before it. This order is therefore chosen: the first of a fixed list of orders that clients can add
 * completely. It depends only on the group and on the set of resources, so the same simulation has the same response.
 */
import type { Transaction } from '@latchkey/algorand'
import type { ResourcePair, UnnamedBox, UnnamedSet } from '@latchkey/avm'
import * as ReferencePacker from './ReferencePacker.js'

type References = ReferencePacker.References

/** Bounds the time for groups that no client can complete: 100 orders take a few milliseconds. */
const maxShuffles = 100

/** Returns the resources in ascending order, with the boxes of an application next to each other. */
export function sorted(set: UnnamedSet): References {
  return {
    accounts: [...set.accounts].sort(compare),
    apps: [...set.apps].sort(compare),
    assets: [...set.assets].sort(compare),
    boxes: [...set.boxes].sort((a, b) => compare(a.appId, b.appId) || compare(a.name, b.name)),
    holdings: [...set.holdings.values()].sort(comparePairs),
    locals: [...set.locals.values()].sort(comparePairs),
    extraBoxReferences: set.extraBoxReferences,
  }
}

/** Returns the resources of a group in an order in which clients can add them to its calls, if there is one. */
export function packable(set: UnnamedSet, group: readonly Transaction.Transaction[]): References {
  const first = sorted(set)
  const calls = ReferencePacker.callsOf(group, first)
  if (ReferencePacker.areTooMany(calls, first)) return first
  let best = first
  let mostPackers = 0
  for (const order of orders(first, group)) {
    const packers = ReferencePacker.packers.filter((packer) => ReferencePacker.fits(packer, calls, order)).length
    if (packers > mostPackers) {
      best = order
      mostPackers = packers
    }
    if (mostPackers === ReferencePacker.packers.length) break
  }
  return best
}

/** The boxes of called applications need one place each, so they are best added last. The rest are shuffles. */
function* orders(references: References, group: readonly Transaction.Transaction[]): Generator<References> {
  const called = new Set(group.map(({ apid }) => apid))
  const isCalled = ({ appId }: UnnamedBox) => called.has(appId)
  const { boxes } = references
  yield { ...references, boxes: [...boxes.filter((box) => !isCalled(box)), ...boxes.filter(isCalled)] }
  yield references
  const random = randomIndexes()
  for (let count = 0; count < maxShuffles; count++) {
    yield {
      accounts: shuffled(references.accounts, random),
      apps: shuffled(references.apps, random),
      assets: shuffled(references.assets, random),
      boxes: shuffled(boxes, random),
      holdings: shuffled(references.holdings, random),
      locals: shuffled(references.locals, random),
      extraBoxReferences: references.extraBoxReferences,
    }
  }
}

type RandomIndex = (below: number) => number

function shuffled<T>(list: readonly T[], random: RandomIndex): T[] {
  const result = [...list]
  for (let index = result.length - 1; index > 0; index--) {
    const other = random(index + 1)
    ;[result[index], result[other]] = [result[other]!, result[index]!]
  }
  return result
}

/** The same indexes each time, from a linear congruential generator; its high bits have the longest periods. */
function randomIndexes(): RandomIndex {
  let state = 1
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function comparePairs(a: ResourcePair, b: ResourcePair): number {
  return compare(a.address, b.address) || compare(a.id, b.id)
}

function compare(a: string | bigint, b: string | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
