import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryClaims } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { type ClaimsKind, claimsConformance } from '../support/claimsConformance.test.helper.js'

/** A clock that the tests set; the stores use the time that they are given. */
function clock() {
  let offsetMs = 0
  return {
    nowMs: () => Date.now() + offsetMs,
    pass: async (ms: number) => {
      offsetMs += ms
    },
  }
}

const memory: ClaimsKind = {
  name: 'MemoryClaims',
  hasOwnClock: false,
  hasSales: true,
  open: async (_, options) => ({ store: new MemoryClaims(options), others: [], ...clock() }),
}

const sqlite: ClaimsKind = {
  name: 'SqliteClaims',
  hasOwnClock: false,
  hasSales: true,
  open: async (t, options) => {
    const directory = mkdtempSync(join(tmpdir(), 'claims-conformance-'))
    const [store, ...others] = [1, 2].map(() => new SqliteClaims(join(directory, 'claims.db'), options))
    t.after(() => {
      for (const one of [store, ...others]) one!.close()
      rmSync(directory, { recursive: true })
    })
    return { store: store!, others, ...clock() }
  },
}

claimsConformance(memory)
claimsConformance(sqlite)
