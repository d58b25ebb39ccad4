/**
 * Runs buyers and sellers while the facilitator, the key daemon and the node are killed repeatedly, the node loses and
 * forgets, connections break, and buyers abort and repeat. At the end the books of ledger, facilitator, sellers and
 * buyers agree to the unit, no payment opened two answers, no order was placed twice, and every settled payment got its
 * answer. `npm run soak -- 20` takes minutes; LATCHKEY_SOAK_SECONDS and LATCHKEY_SOAK_SEED set the length and the
 * random seed, LATCHKEY_SOAK_LOG a file for every problem with its history. LATCHKEY_SOAK_STORE=postgres keeps
 * settlements and claims in PostgreSQL, which is killed too, instead of SQLite.
 */
import assert from 'node:assert/strict'
import { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { after, test } from 'node:test'
import { temporaryDirectory, until } from '../process/commands.test.helper.js'
import { compareBooks } from './soakBooks.test.helper.js'
import { lanes, openMarket } from './soakMarket.test.helper.js'
import { killAtRandom } from './soakProcesses.test.helper.js'
import { closeBooks, historiesOf, noteServed } from './soakRecords.test.helper.js'
import { note } from './soakTimeline.test.helper.js'

const seconds = Number(process.env['LATCHKEY_SOAK_SECONDS'] ?? 8)
const seed = Number(process.env['LATCHKEY_SOAK_SEED'] ?? Date.now() % 2 ** 31)
const engine = process.env['LATCHKEY_SOAK_STORE'] === 'postgres' ? 'postgres' : 'sqlite'
/** How long buyers may take to complete their purchases once everything runs again. */
const lastChanceMs = 120_000
const noteEveryMs = 30_000
const maxProblems = 30
const maxProblemLength = 150

test(`${seconds} seconds of kills, faults, aborts and repeats`, { timeout: 600_000 + seconds * 2_000 }, async (t) => {
  let endsAt = Number.POSITIVE_INFINITY
  const isOver = (): boolean => performance.now() > endsAt
  const hasToEnd = (): boolean => performance.now() > endsAt + lastChanceMs
  const market = await openMarket(t, { directory: temporaryDirectory(t), engine, seed, isOver })
  endsAt = performance.now() + seconds * 1_000
  const { devnet, kmd, facilitator, stores, random, kills } = market
  const noting = setInterval(() => void noteServed(market).catch(() => {}), noteEveryMs)
  t.after(() => clearInterval(noting))
  const killing = killAtRandom([devnet, kmd, facilitator, ...stores.servers], { random, kills, isOver })
  const buying = market.shoppers.flatMap((shopper) => {
    const count = shopper === market.shoppers.at(-1) ? 1 : lanes
    return Array.from({ length: count }, () => shopper.run(isOver, hasToEnd))
  })
  await Promise.all([killing, ...buying])
  note('the books are closed')
  await closeBooks(market)
  const { counts, problems } = await compareBooks(market)
  const { faults, aborts, repeats, outcomes, work } = market
  const details = { kills, faults, aborts, repeats, outcomes, work }
  const failing = problems.slice(0, maxProblems).map((problem) => problem.slice(0, maxProblemLength))
  const line = JSON.stringify({
    seconds,
    store: engine,
    seed,
    ...counts,
    ...details,
    problems: problems.length,
    failing,
  })
  process.stdout.write(`${line}\n`)
  if (process.env['LATCHKEY_SOAK_LOG'] !== undefined)
    writeFileSync(process.env['LATCHKEY_SOAK_LOG'], [...problems, ...(await historiesOf(market, problems))].join('\n'))
  assert.equal(problems.length, 0, failing[0] ?? '')
})

/** Returns the open sockets and child processes, as far as Node reports them. */
function openHandles(): string[] {
  const handles = (process as unknown as { _getActiveHandles(): object[] })._getActiveHandles()
  return handles.flatMap((handle) => {
    if (handle instanceof ChildProcess) return `process ${handle.spawnfile}`
    if (!(handle instanceof Socket) || handle.remotePort === undefined) return []
    const { localPort, remotePort, bytesRead, bytesWritten, destroyed } = handle
    return JSON.stringify({ localPort, remotePort, bytesRead, bytesWritten, destroyed })
  })
}

// No aborted request may keep a connection or a process forever.
after(async () => {
  const isOpen = (): boolean => process.getActiveResourcesInfo().some((name) => /TCP|Process/.test(name))
  await until('nothing is left open', () => !isOpen()).catch((error: unknown) => {
    process.stdout.write(`${process.getActiveResourcesInfo().join(' ')}\n${openHandles().join('\n')}\n`)
    throw error
  })
})
