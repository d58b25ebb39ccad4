import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Algod } from '@latchkey/algod'
import { BlockSearch } from './BlockWatch.js'

const idOf = (text: string): string => text.padEnd(52, 'A')

/** Blocks by round. A missing round is an error. */
function open(blocks: { readonly [round: number]: readonly string[] }) {
  const read: number[] = []
  const blockTransactionIds = async (round: bigint): Promise<readonly string[]> => {
    read.push(Number(round))
    await new Promise((resolve) => setTimeout(resolve, 1))
    const ids = blocks[Number(round)]
    if (ids === undefined) throw new Error(`no block ${round}`)
    return ids.map(idOf)
  }
  return { read, search: new BlockSearch({ blockTransactionIds } as unknown as Algod) }
}

test('finds a transaction, or determines that no block has it', async () => {
  const { search, read } = open({ 1: ['X'], 2: ['Y', 'B'], 3: [] })
  assert.equal(await search.find(idOf('B'), 1n, 3n), 2n)
  assert.equal(await search.find(idOf('C'), 1n, 3n), undefined)
  assert.equal(await search.find(idOf('C'), 0n, 1n), undefined, 'round 0 is not read')
  assert.equal(await search.find(idOf('C'), 5n, 4n), undefined)
  assert.deepEqual(read, [1, 2, 3], 'each block once')
})

test('reads each block once for a hundred searches of the same rounds', async () => {
  const blocks = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [index + 1, [`T${index}`]]))
  const { search, read } = open(blocks)
  const names = Array.from({ length: 100 }, (_, index) => idOf(`T${index}`))
  const found = await Promise.all(names.map((id) => search.find(id, 1n, 50n)))
  assert.deepEqual(found.slice(0, 3), [1n, 2n, 3n])
  assert.equal(found.filter((round) => round === undefined).length, 50)
  assert.equal(read.length, 50)
})

test('a missing block fails only the searches that need it', async () => {
  const { search } = open({ 1: [], 2: [], 4: ['B'], 5: [] })
  const results = await Promise.allSettled([
    search.find(idOf('A'), 1n, 5n),
    search.find(idOf('B'), 4n, 5n),
    search.find(idOf('C'), 1n, 2n),
  ])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed')),
    ['failed', 4n, undefined],
  )
})

test('compares a match in a remembered block with the block itself', async () => {
  const { search, read } = open({ 1: ['SAMEBEGINNING1'] })
  assert.equal(await search.find(idOf('OTHER'), 1n, 1n), undefined)
  assert.equal(await search.find(idOf('SAMEBEGINNING2'), 1n, 1n), undefined)
  assert.equal(await search.find(idOf('SAMEBEGINNING1'), 1n, 1n), 1n)
  assert.deepEqual(read, [1, 1, 1])
})
