/**
 * Replays a session with a node in dev mode: each response must have the same bytes. The chain begins with the genesis
 * of that node, so that even the hashes of its blocks are the same.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Status } from '../ledger/Account.js'
import type { Genesis } from '../ledger/Genesis.js'
import type { Allocation } from '../ledger/GenesisDocument.js'
import * as MapKey from '../ledger/MapKey.js'
import { TestNode } from '../testing/TestNode.test.helper.js'

type Step = { method: string; path: string; body?: string; status: number; type?: string; response: string }
type State = {
  algo: number
  onl?: number
  sel?: string
  stprf?: string
  vote?: string
  voteKD?: number
  voteLst?: number
}
type Session = {
  genesisHash: string
  alloc: { addr: string; comment: string; state: State }[]
  steps: Step[]
}

const file = new URL('../../src/rest/fixtures/algod-session.json', import.meta.url)
const session = JSON.parse(readFileSync(file, 'utf8')) as Session
const statuses: readonly Status[] = ['Offline', 'Online', 'Not Participating']
const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'))

function allocationOf({ addr, comment, state }: Session['alloc'][number]): Allocation {
  const { algo, onl = 0, sel, stprf, vote, voteKD = 0, voteLst = 0 } = state
  const balance = { address: addr, comment, microAlgos: BigInt(algo), status: statuses[onl]! }
  if (sel === undefined || stprf === undefined || vote === undefined) return balance
  return {
    ...balance,
    participation: {
      voteKey: bytes(vote),
      selectionKey: bytes(sel),
      stateProofKey: bytes(stprf),
      firstRound: 0n,
      lastRound: BigInt(voteLst),
      keyDilution: BigInt(voteKD),
    },
  }
}

/** Removes the accounts and assets of this devnet. */
function recordedGenesis(own: Genesis): Genesis {
  const genesisHash = MapKey.of(bytes(session.genesisHash))
  return {
    ...own,
    chain: { ...own.chain, genesisHash },
    fingerprint: genesisHash,
    accounts: [],
    allocations: session.alloc.map(allocationOf),
    assets: new Map(),
  }
}

/** How many rounds a node has written to its database depends on its timing. */
const withoutTiming = (text: string) => text.replace(/dbRound [0-9]+|deltas [0-9]+/g, '#')

test('the responses match those of a node, byte by byte', async (t) => {
  const node = new TestNode({ genesis: recordedGenesis })
  for (const [index, { method, path, body, status, type, response }] of session.steps.entries()) {
    await t.test(`${index} ${method} ${path}`, async () => {
      const sent = body === undefined ? {} : { body: bytes(body) }
      const got = await node.call(method, path, sent)
      assert.ok(typeof got !== 'symbol')
      const text = got.header('content-type') === 'application/msgpack' ? base64(got.bytes) : got.text
      assert.equal(withoutTiming(text), withoutTiming(response))
      assert.deepEqual([got.status, got.header('content-type')], [status, type])
    })
  }
})

function base64(value: Uint8Array): string {
  return Buffer.from(value).toString('base64')
}
