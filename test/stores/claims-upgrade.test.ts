/** Tests a file of version 3, from before leases were renewed, and a process of that version that still has it open. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Sqlite from '@latchkey/system/sqlite'
import { type ClaimLease, decideClaim, type StoredClaim } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { claimsUpgrade, longLeaseMs, type VersionBefore } from '../support/claimsUpgrade.test.helper.js'

/** Removes the newer columns, which leaves the file as version 3 wrote it. */
function fileOfVersion3(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'claims-upgrade-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'claims.db')
  new SqliteClaims(path).close()
  const database = Sqlite.open(path)
  for (const column of ['fence', 'fenced_owner', 'is_begun']) database.exec(`ALTER TABLE claims DROP COLUMN ${column}`)
  database.exec('ALTER TABLE store DROP COLUMN last_fence; PRAGMA user_version = 3')
  database.close()
  return path
}

function versionBefore(database: Sqlite.Database, nowMs: () => number): VersionBefore {
  const read = database.prepare(
    `SELECT state, binding, until_ms AS untilMs, is_done AS isDone, a.transaction_id IS NOT NULL AS hasAnswer
     FROM claims c LEFT JOIN answers a USING (transaction_id) WHERE c.transaction_id = ?`,
  )
  const claim = database.prepare(
    `INSERT INTO claims (transaction_id, owner, state, until_ms, network, forget_round, times, binding)
     VALUES (?1, ?2, 'serving', ?3, ?4, ?5, 1, ?6)
     ON CONFLICT (transaction_id)
     DO UPDATE SET owner = ?2, state = 'serving', until_ms = ?3, times = times + 1, binding = ?6`,
  )
  return {
    claim: async (transactionId, owner) => {
      const found = read.get(transactionId) as { [name: string]: unknown } | undefined
      const known = found && { ...found, isDone: found['isDone'] === 1, hasAnswer: found['hasAnswer'] === 1 }
      const lease = { owner, binding: 'b', proof: 'none', nowMs: nowMs(), leaseMs: longLeaseMs } as ClaimLease
      const type = decideClaim(known as StoredClaim | undefined, lease)
      if (type !== 'busy' && type !== 'taken') claim.run(transactionId, owner, nowMs() + longLeaseMs, 'n', 20, 'b')
      return type
    },
    finish: async (transactionId, owner, end) => {
      const sql =
        end === 'forgotten'
          ? 'DELETE FROM claims WHERE transaction_id = ? AND owner = ?'
          : `UPDATE claims SET state = '${end}' WHERE transaction_id = ? AND owner = ?`
      database.prepare(sql).run(transactionId, owner)
    },
  }
}

claimsUpgrade('SqliteClaims', async (t, prepare) => {
  const path = fileOfVersion3(t)
  let offsetMs = 0
  const nowMs = (): number => Date.now() + offsetMs
  const database = Sqlite.open(path)
  const before = versionBefore(database, nowMs)
  await prepare(before)
  const store = new SqliteClaims(path)
  t.after(() => {
    store.close()
    database.close()
  })
  const pass = async (ms: number): Promise<void> => {
    offsetMs += ms
  }
  return { store, before, pass, nowMs }
})

test('SqliteClaims: a file of version 3 keeps its id, and gets a version that version 3 refuses', (t) => {
  const path = fileOfVersion3(t)
  const database = Sqlite.open(path)
  t.after(() => database.close())
  const { id } = database.prepare('SELECT id FROM store').get() as { id: string }
  const store = new SqliteClaims(path)
  assert.equal(store.id, id)
  store.close()
  new SqliteClaims(path).close()
  assert.equal(Number((database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version), 4)
})
