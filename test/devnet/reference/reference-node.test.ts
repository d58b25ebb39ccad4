/**
 * Compares the devnet with a reference node in dev mode: random programs, random sources, random sessions of
 * applications, and random transfers of the scheme `upto`. The node must have the genesis that `GET /genesis` of a devnet without accounts
 * returns, `EnableDeveloperAPI`, and no other clients. If it starts at its genesis, the blocks that programs read are
 * compared as well.
 *
 *     LATCHKEY_REFERENCE_ALGOD=http://127.0.0.1:8080 LATCHKEY_REFERENCE_ALGOD_TOKEN=... npm test -- reference-node
 *
 * `LATCHKEY_REFERENCE_CASES` sets the number of programs and of sources, of which the others are a tenth, and
 * `LATCHKEY_REFERENCE_LOG` names a file that gets every difference as a line of JSON.
 */
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { NodePair, reference } from './NodePair.test.helper.js'
import { runPrograms } from './programs.test.helper.js'
import { Random } from './Random.test.helper.js'
import { RandomChanges } from './RandomChanges.test.helper.js'
import { RandomSession } from './RandomSession.test.helper.js'
import { runSources } from './randomSources.test.helper.js'
import { runTransfers } from './uptoTransfers.test.helper.js'

const { seed } = (await import(new URL('../../../seed.mjs', import.meta.url).href)) as { readonly seed: number }
const programs = Number(process.env['LATCHKEY_REFERENCE_CASES'] ?? 10_000)
const others = Math.ceil(programs / 10)
const logFile = process.env['LATCHKEY_REFERENCE_LOG']
const groupsPerSession = 12
const skip = reference.url === '' && 'LATCHKEY_REFERENCE_ALGOD names no node'
const options = { skip, timeout: 3_600_000 }
const shownDifferences = 5

let started: Promise<NodePair> | undefined
const startOnce = (): Promise<NodePair> => (started ??= NodePair.start())
after(async () => (await started)?.stop())

/** Runs cases on both nodes, and fails if any response differs. */
async function compare(report: (text: string) => void, run: (pair: NodePair) => Promise<string>): Promise<void> {
  const pair = await startOnce()
  const { requests } = pair
  try {
    const summary = await run(pair)
    report(`${summary}; ${pair.requests - requests} requests, ${pair.equalBlocks} blocks with equal bytes`)
  } finally {
    const differences = pair.differences.splice(0)
    if (logFile !== undefined) for (const one of differences) appendFileSync(logFile, `${JSON.stringify(one)}\n`)
    const shown = differences.slice(0, shownDifferences).map(({ what, expected, actual }) => {
      return `${what.slice(0, 500)}\nreference: ${expected.slice(0, 2000)}\ndevnet:    ${actual.slice(0, 2000)}`
    })
    assert.equal(differences.length, 0, `seed ${seed}: ${differences.length} differences\n${shown.join('\n\n')}`)
  }
}

test('random programs have the same verdict, cost and trace', options, (t) =>
  compare(
    (text) => t.diagnostic(text),
    (pair) => runPrograms(pair, new Random(seed), programs),
  ),
)

test('random sources have the same programs and errors', options, (t) =>
  compare(
    (text) => t.diagnostic(text),
    (pair) => runSources(pair, new Random(seed + 4), programs),
  ),
)

test('random sessions of applications have the same blocks and state', options, (t) =>
  compare(
    (text) => t.diagnostic(text),
    async (pair) => {
      let [accepted, refused] = [0, 0]
      for (let count = 0; count < others; count++) {
        const session = new RandomSession(pair, new Random(seed + 2 + 7919 * count), `session ${count}`)
        await session.run(groupsPerSession)
        accepted += session.accepted
        refused += session.refused
      }
      return `${others} sessions, ${accepted} groups accepted, ${refused} refused`
    },
  ),
)

test('random transactions report the same changes, even of values that stay the same', options, (t) =>
  compare(
    (text) => t.diagnostic(text),
    async (pair) => {
      let [accepted, refused] = [0, 0]
      for (let count = 0; count < others; count++) {
        const changes = new RandomChanges(pair, new Random(seed + 3 + 7919 * count), `changes ${count}`)
        await changes.run(groupsPerSession)
        accepted += changes.accepted
        refused += changes.refused
      }
      return `${others} sessions, ${accepted} groups accepted, ${refused} refused`
    },
  ),
)

test('random transfers of the scheme upto have the same verdict, and at most one settles', options, (t) =>
  compare(
    (text) => t.diagnostic(text),
    (pair) => runTransfers(pair, new Random(seed + 1), others),
  ),
)
