import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setUp } from './setup.test.helper.js'
import { SqliteSettlements } from './store/sqlite/SqliteSettlements.js'

const settler = fileURLToPath(new URL('./crashing-process.test.helper.js', import.meta.url))

for (const when of ['before', 'after']) {
  test(`killed ${when} the node had it: the next process settles the recorded payment`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-crash-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const path = join(directory, 'settlements.db')
    const child = spawn(process.execPath, [settler, path], { stdio: 'inherit' })
    t.after(() => child.kill('SIGKILL'))
    const [, signal] = (await once(child, 'close')) as [unknown, string]
    assert.equal(signal, 'SIGKILL')

    const store = new SqliteSettlements(path)
    const [left] = store.pending()
    assert.equal(store.pending().length, 1)
    const { facilitator, node } = await setUp(t, { store })
    if (when === 'after') node.submitted.push(Buffer.concat(left!.group))
    assert.equal(await facilitator.resume(), 1)
    while (store.pending().length > 0) await sleep(5)
    assert.equal(store.get(left!.transactionId)!.state, 'settled')
    assert.deepEqual(node.submitted, [Buffer.concat(left!.group)], 'the same bytes, once')
  })
}
