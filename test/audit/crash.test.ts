/** The log of a daemon that is killed, or whose disk is full: it verifies, and what left the daemon is in it. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { AuditFile } from '@latchkey/kmd'
import { atEnd, dataDirectory, type Json, Kmd, temporaryDirectory } from '../process/commands.test.helper.js'
import { startDaemon } from '../support/daemon.test.helper.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 6)

async function start(t: TestContext, dataDir: string, env: NodeJS.ProcessEnv = {}): Promise<Kmd> {
  const daemon = await startDaemon({ dir: dataDir, config: null, token: null, env })
  atEnd(t, () => daemon.child.kill('SIGKILL'))
  return new Kmd(daemon)
}

async function readLog(dataDir: string): Promise<Json[]> {
  const file = AuditFile.open(dataDir)
  try {
    const { problem } = await file.verify()
    assert.equal(problem, undefined, problem?.message)
    const records: Json[] = []
    for (let afterNumber: number | undefined = 0; afterNumber !== undefined; ) {
      const found = await file.search({ afterNumber, count: 1_000 })
      records.push(...found.records)
      afterNumber = found.continueFrom
    }
    return records
  } finally {
    file.close()
  }
}

suite('audit log', { timeout: 600_000 }, () => {
  test('kill -9 at any moment leaves a log that verifies and has every key that left', async (t) => {
    const dataDir = dataDirectory(t)
    const exported: string[] = []
    let wallet: string | undefined
    for (let round = 0; round < rounds; round++) {
      const kmd = await start(t, dataDir)
      wallet ??= await kmd.create('w', 'secret')
      const handle = await kmd.unlock(wallet, 'secret')
      let isKilled = false
      const work = async (): Promise<void> => {
        while (!isKilled) {
          const made = await kmd.call('POST', '/v1/key', { wallet_handle_token: handle })
          const { address } = made.json
          const body = { wallet_handle_token: handle, wallet_password: 'secret', address }
          const response = await kmd.call('POST', '/v1/key/export', body)
          if (response.status === 200) exported.push(address)
        }
      }
      const before = exported.length
      const workers = Array.from({ length: 4 }, () => work().catch(() => {}))
      while (exported.length < before + 5 + round * 3) await new Promise((resolve) => setImmediate(resolve))
      process.kill(kmd.pid, 'SIGKILL')
      isKilled = true
      await kmd.exited
      await Promise.all(workers)
      const records = await readLog(dataDir)
      const recorded = new Set(records.filter(({ event }) => event === 'key_exported').map(({ address }) => address))
      for (const address of exported) assert.ok(recorded.has(address), `${address} left without a record`)
    }
    const last = await readLog(dataDir)
    assert.ok(!last.some(({ event }) => event === 'log_damaged'))
  })

  test('on a full disk no key leaves without a record, the owner works on, and the log verifies', async (t) => {
    const bin = join(temporaryDirectory(t), 'bin')
    mkdirSync(bin)
    // As the disk would: no file may have more than this.
    writeFileSync(join(bin, 'node'), `#!/bin/bash\nulimit -f 600\nexec ${process.execPath} "$@"\n`, { mode: 0o755 })
    const dataDir = dataDirectory(t, { log_level: 'error' })
    const first = await start(t, dataDir)
    const wallet = await first.create('w', 'secret')
    const address = await first.generate(await first.unlock(wallet, 'secret'))
    assert.equal(await first.stop(), 0)
    const kmd = await start(t, dataDir, { PATH: `${bin}:${process.env['PATH'] ?? ''}` })
    const handle = await kmd.unlock(wallet, 'secret')
    const body = { wallet_handle_token: handle, wallet_password: 'secret', address }
    let left = 0
    let refused: Json
    while (refused === undefined) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => kmd.call('POST', '/v1/key/export', body)))
      left += responses.filter(({ status }) => status === 200).length
      refused = responses.find(({ status }) => status !== 200)
      assert.ok(left < 20_000, 'the disk never became full')
    }
    assert.deepEqual([refused.status, refused.headers['latchkey-error']], [503, 'state_not_written'])
    assert.equal(refused.json.private_key, undefined)
    assert.equal(
      (await kmd.call('POST', '/v1/wallet/init', { wallet_id: wallet, wallet_password: 'secret' })).status,
      200,
    )
    const metrics = await kmd.call('GET', '/latchkey/v1/metrics')
    assert.match(metrics.text, /^latchkey_lost_audit_records [1-9]/m)
    process.kill(kmd.pid, 'SIGKILL')
    await kmd.exited
    const records = await readLog(dataDir)
    assert.ok(records.filter(({ event }) => event === 'key_exported').length >= left)
    const again = await start(t, dataDir)
    await again.unlock(wallet, 'secret')
    assert.equal(await again.stop(), 0)
    assert.equal((await readLog(dataDir)).at(-1).event, 'wallet_unlocked')
  })
})
