/** Runs the conformance tests on the settlement stores for a single machine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { MemorySettlements } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { testSettlementStore } from '../support/settlementConformance.test.helper.js'

function clockOf(t: TestContext): { pass: (ms: number) => void } {
  let nowMs = Date.now()
  t.mock.method(Date, 'now', () => nowMs)
  return {
    pass: (ms) => {
      nowMs += ms
    },
  }
}

testSettlementStore('memory', (t) => ({ stores: [new MemorySettlements()], ...clockOf(t) }))

testSettlementStore('SQLite', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-settlements-'))
  const path = join(directory, 'settlements.db')
  const stores = [1, 2, 3].map(() => new SqliteSettlements(path))
  t.after(() => {
    for (const store of stores) store.close()
    rmSync(directory, { recursive: true })
  })
  return { stores, ...clockOf(t) }
})
