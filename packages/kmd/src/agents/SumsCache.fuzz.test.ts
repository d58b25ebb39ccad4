/** Random histories of reservations, with restarts in between, compared with sums over all records. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Limit, Period } from '@latchkey/kmd-api/rules'
import { fileName, migrations } from '../state/openState.js'
import { StateDatabase } from '../state/StateDatabase.js'
import { fuzzRuns, temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { network, payee, rulesOf, startMs, stranger, usdc } from './AgentFixture.test.helper.js'
import type { StoredAgent } from './AgentStore.js'
import type { AgentSums } from './AgentSums.js'
import type { Facts } from './Decision.js'
import { type OpenReservation, outcomes, Reservations, SumsCache } from './Reservations.js'

const hour = 3_600_000
const windows: { [period in Period]?: number } = { hour, day: 24 * hour, week: 168 * hour, '30days': 720 * hour }
const periods = ['hour', 'day', 'week', '30days', 'total'] as const
const otherNetwork = 'b'.repeat(44)
const otherAsset = 77n
const mostInteger = 2n ** 63n - 1n

type Row = OpenReservation & { isOpen: boolean }
type Random = (below: number) => number
type World = { reservations: Reservations; sums: AgentSums; rows: Row[]; nowMs: number; random: Random }

function randomFrom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Each asset and the number of payments, in each window, for all payees and for one. */
const limits: readonly Limit[] = periods.flatMap((per) =>
  [undefined, payee.address].flatMap((to): Limit[] => [
    ...[0n, usdc, otherAsset].map((assetId): Limit => {
      const one = { type: 'amount', per, network, assetId, amount: 1n } as const
      return to === undefined ? one : { ...one, payee: to }
    }),
    { type: 'count', per, network, count: 1, ...(to === undefined ? {} : { payee: to }) },
  ]),
)

function amountOf(limit: Limit, row: Row): bigint {
  if (row.network !== limit.network || (limit.payee !== undefined && limit.payee !== row.payee)) return 0n
  if (limit.type === 'count') return 1n
  if (limit.assetId === 0n) return row.microAlgos
  return row.assetId === limit.assetId ? row.assetAmount : 0n
}

function expected(limit: Limit, rows: readonly Row[], nowMs: number, keep: (used: bigint) => bigint) {
  const windowMs = windows[limit.per] ?? Number.POSITIVE_INFINITY
  const counted = rows.filter((row) => row.atMs + windowMs > nowMs && amountOf(limit, row) > 0n)
  const used = counted.reduce((sum, row) => sum + amountOf(limit, row), 0n)
  const most = keep(used)
  let left = used
  const last = counted.find((row) => {
    left -= amountOf(limit, row)
    return left <= most
  })
  const isRolling = windowMs !== Number.POSITIVE_INFINITY
  return { used, most, freeAtMs: isRolling && last !== undefined ? last.atMs + windowMs : undefined }
}

function compare({ sums, rows, nowMs, random }: World, limit: Limit, where: string): void {
  const keep = (used: bigint): bigint => (used * BigInt(random(1_000))) / 1_000n
  const { used, most, freeAtMs } = expected(limit, rows, nowMs, keep)
  assert.equal(sums.used(limit, nowMs), used, `${where}: used ${limit.per}`)
  if (used > 0n) assert.equal(sums.freeAt(limit, most, nowMs), freeAtMs, `${where}: free ${limit.per} ${most}`)
}

function amountFrom(random: Random): bigint {
  if (random(4) === 0) return mostInteger - BigInt(random(3))
  return BigInt(random(3) === 0 ? 0 : 1 + random(3))
}

function insert(world: World): void {
  const { random, reservations, rows, nowMs } = world
  const assetId = [0n, usdc, otherAsset][random(3)]!
  const [microAlgos, assetAmount] = [amountFrom(random), assetId === 0n ? 0n : amountFrom(random)]
  const uptoPayer = random(3) === 0 && assetId !== 0n ? payee.address : undefined
  const facts: Pick<Facts, 'network' | 'payee' | 'assetId' | 'spends' | 'firstValid' | 'lastValid' | 'sender'> = {
    network: random(8) === 0 ? otherNetwork : network,
    payee: [payee.address, stranger.address, undefined][random(3)],
    assetId,
    spends: [
      { assetId: 0n, amount: microAlgos },
      { assetId, amount: assetId === 0n ? microAlgos : assetAmount },
    ],
    firstValid: 1n,
    lastValid: 100n,
    sender: payee.address,
  }
  const number = reservations.end(1)
  const transactionId = Buffer.alloc(32)
  transactionId.writeUInt32BE(number)
  const counted = reservations.insert(1, transactionId, { ...facts, isUpTo: uptoPayer !== undefined } as Facts, nowMs)
  const undo = world.sums.add(counted)
  if (random(10) === 0) {
    undo()
    world.sums.add(counted)
  }
  rows.push({ ...counted, number, transactionId, firstValid: 1n, lastValid: 100n, uptoPayer, isOpen: true })
}

function giveBack({ reservations, sums, rows, random }: World): void {
  const open = rows.filter(({ isOpen }) => isOpen)
  const from = random(open.length)
  const returned = open.slice(from, from + 1 + random(4))
  for (const { number } of returned) reservations.setOutcome(1, number, outcomes.returned)
  sums.giveBack(returned)
  for (const row of returned) rows.splice(rows.indexOf(row), 1)
}

function settle({ reservations, sums, rows, random }: World): void {
  const open = rows.filter(({ isOpen, uptoPayer }) => isOpen && uptoPayer !== undefined)
  const row = open[random(open.length)]
  if (row === undefined) return
  const assetAmount = (row.assetAmount * BigInt(random(5))) / 4n
  assert.equal(reservations.settle(1, row.number, assetAmount), true)
  sums.reduce(row, { ...row, assetAmount })
  rows[rows.indexOf(row)] = { ...row, assetAmount, isOpen: false }
}

function step(world: World, where: string): void {
  const { random, rows, reservations } = world
  const action = random(10)
  if (action === 0) giveBack(world)
  else if (action === 1) settle(world)
  else if (action === 2 && rows.length > 0) {
    const row = rows[random(rows.length)]!
    reservations.setOutcome(1, row.number, outcomes.confirmed)
    rows[rows.indexOf(row)] = { ...row, isOpen: false }
  } else insert(world)
  // Several reservations often have the same time.
  world.nowMs += random(2) * random([10, hour, 20 * hour, 60 * hour][random(4)]!)
  // Only a few: each comparison replaces blocks by their amounts.
  for (let count = random(3); count > 0; count--) compare(world, limits[random(limits.length)]!, where)
}

test('sums in blocks agree with all records over random payments, charges, returns, rollbacks and restarts', async (t) => {
  // A run has at least a hundred steps with several comparisons each.
  for (let seed = 1; seed <= Math.ceil(fuzzRuns(8_000) / 1_000); seed++) {
    const random = randomFrom(seed)
    const file = join(temporaryDirectory(t), fileName)
    let [nowMs, rows]: [number, Row[]] = [startMs, []]
    let database = new StateDatabase({ file, migrations })
    for (let start = 0; start < 12; start++) {
      const where = `seed ${seed}, start ${start}`
      const reservations = new Reservations(database)
      const cache = new SumsCache(reservations, { rowsPerBlock: 1 + random(9) })
      const stored = { number: 1, agent: { rules: rulesOf(limits.slice(0, 1 + random(limits.length))) } } as StoredAgent
      const all = { number: 1, agent: { rules: rulesOf(limits) } } as StoredAgent
      if (start % 2 === 1) {
        await cache.prepare(
          () => stored,
          () => nowMs,
        )
        cache.rulesChanged(1, all.agent.rules)
      }
      const kept = [...rows]
      const isCrash = random(4) === 0
      const crash = new Error('crash')
      const epoch = database.change(() => {
        const sums = cache.read(all, nowMs)
        const world = { reservations, sums, rows, nowMs, random }
        for (let count = 10 + random(20); count > 0; count--) step(world, where)
        if (random(3) === 0) for (const limit of limits) compare(world, limit, where)
        if (isCrash) throw crash
        nowMs = world.nowMs
      })
      await epoch.catch((error) => {
        if (error !== crash) throw error
        rows = kept
      })
      if (random(3) === 0) {
        await database.close()
        database = new StateDatabase({ file, migrations })
      }
    }
    await database.close()
  }
})

test('blocks older than any window are dropped, and later ones keep their amounts', async (t) => {
  const database = new StateDatabase({ file: join(temporaryDirectory(t), fileName), migrations })
  t.after(() => database.close())
  const reservations = new Reservations(database)
  const stored = { number: 1, agent: { rules: rulesOf(limits) } } as StoredAgent
  await database.change(() => {
    const start = { reservations, rows: [], nowMs: startMs, random: randomFrom(1) }
    const filled: World = { ...start, sums: new SumsCache(reservations).read(stored, startMs) }
    for (let row = 0; row < 4_000; row++) {
      insert(filled)
      filled.nowMs += hour / 6
    }
    const sums = new SumsCache(reservations, { rowsPerBlock: 2 }).read(stored, filled.nowMs)
    const world: World = { ...filled, sums }
    world.nowMs += 27 * 24 * hour
    for (let row = 0; row < 20; row++) insert(world)
    for (const limit of limits) compare(world, limit, 'after 27 days')
  })
})
