import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import * as Sqlite from '@latchkey/system/sqlite'
import { SqliteClaims } from '../store/sqlite/SqliteClaims.js'
import { newLedger, stubGate } from '../stubs.test.helper.js'

test('counts the settlements of a killed process once, and the next process calls its hook', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sales-crash-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'claims.db')
  const child = fork(new URL('./sales-crash.test.helper.js', import.meta.url), [path])
  t.after(() => child.kill('SIGKILL'))
  const killed = once(child, 'exit')
  const [transactionId] = (await once(child, 'message')) as [string]
  assert.deepEqual(await killed, [null, 'SIGKILL'])
  const database = Sqlite.open(path)
  // Some minutes later.
  database.exec('UPDATE sales SET time_ms = time_ms - 600000')
  database.close()

  const ledger = newLedger()
  ledger.transactions.set(transactionId, { type: 'confirmed', round: 1_000n })
  const told: string[] = []
  for (let starts = 1; starts <= 2; starts++) {
    const claims = new SqliteClaims(path)
    const { gate } = await stubGate({ claims, onSettled: ({ id }) => void told.push(id) }, ledger)
    while (told.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await gate.close()
    assert.deepEqual(told, [transactionId])
    assert.deepEqual(
      claims.sales.revenue({}).map(({ settled, failed, amount }) => [settled, failed, amount]),
      [[1, 0, '10000']],
    )
    assert.deepEqual(claims.sales.open('due', Number.MAX_SAFE_INTEGER, 10), [])
    claims.close()
  }
})
