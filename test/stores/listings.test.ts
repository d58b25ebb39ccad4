/** Runs the conformance tests of catalogues on the stores for a single machine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryListings } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { testListings } from '../support/listingsConformance.test.helper.js'

testListings('memory', () => [new MemoryListings()])

testListings('SQLite', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-listings-'))
  const path = join(directory, 'settlements.db')
  const stores = [1, 2, 3].map(() => new SqliteSettlements(path))
  t.after(() => {
    for (const store of stores) store.close()
    rmSync(directory, { recursive: true })
  })
  return stores.map(({ listings }) => listings)
})
