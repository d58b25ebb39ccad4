/** A wallet whose creation fails or is interrupted: no partial wallet is listed, and its name is free. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { suite, test } from 'node:test'
import {
  dataDirectory,
  Kmd,
  sleep,
  start,
  startHosted,
  temporaryDirectory,
} from '../../process/commands.test.helper.js'
import { root, startDaemon } from '../../support/daemon.test.helper.js'

/** Smaller than a wallet, but larger than the log and the other files of the daemon. */
const fileLimitKiB = 16
const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 12)

const problems = async (kmd: Kmd): Promise<unknown[]> =>
  (await kmd.ok('GET', '/latchkey/v1/health')).wallet_problems ?? []

suite('failed creation', { concurrency: 2 }, () => {
  test('KM a wallet that does not fit on the disk leaves nothing, and its name is free', async (t) => {
    const dataDir = dataDirectory(t)
    // A program named `node` that limits the size of files, as a full disk does.
    const bin = temporaryDirectory(t)
    writeFileSync(join(bin, 'node'), `#!/bin/bash\nulimit -f ${fileLimitKiB}\nexec ${process.execPath} "$@"\n`)
    chmodSync(join(bin, 'node'), 0o755)
    const env = { PATH: `${bin}${delimiter}${join(root, 'node_modules', '.bin')}${delimiter}${process.env['PATH']}` }
    const limited = new Kmd(await startDaemon({ dir: dataDir, config: null, token: null, env }))
    t.after(() => limited.stop('SIGKILL'))
    const body = { wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password: 'pw' }
    for (let i = 0; i < 2; i++) {
      const created = await limited.call('POST', '/v1/wallet', body)
      assert.notEqual(created.status, 200)
      assert.notEqual(created.json.message, 'wallet with same name already exists')
      assert.deepEqual(readdirSync(limited.walletPath()), [])
      assert.deepEqual(await problems(limited), [])
    }
    assert.equal(await limited.stop(), 0)
    const kmd = await startHosted(t, { dataDir })
    await kmd.unlock(await kmd.create('w', 'pw'), 'pw')
    assert.deepEqual(await kmd.walletNames(), ['w'])
  })

  test('KM the remains of a crashed creation are not listed, block no name, and are removed', async (t) => {
    const kmd = await startHosted(t)
    const id = (digit: string): string => digit.repeat(32)
    const [old, young] = [`w.${id('0')}.db.latchkey-unfinished`, `w.${id('1')}.db.latchkey-unfinished`]
    // A copy made by a person.
    const copy = `w.${id('2')}.db.new`
    for (const name of [old, `${old}-journal`, young, copy]) writeFileSync(kmd.walletPath(name), '')
    const anHourAgo = Date.now() / 1000 - 3600
    for (const name of [old, copy]) utimesSync(kmd.walletPath(name), anHourAgo, anHourAgo)
    await kmd.create('w', 'pw')
    assert.deepEqual(await kmd.walletNames(), ['w'])
    assert.deepEqual(await problems(kmd), [])
    assert.equal(await kmd.stop(), 0)
    const again = await startHosted(t, { dataDir: kmd.dataDir })
    assert.deepEqual(await again.walletNames(), ['w'])
    assert.deepEqual(
      [old, `${old}-journal`].filter((name) => existsSync(again.walletPath(name))),
      [],
    )
    assert.ok(existsSync(again.walletPath(young)), 'another daemon may be writing it')
    assert.ok(existsSync(again.walletPath(copy)))
  })

  test(`KM ${rounds} kills during creations leave complete wallets or none`, {
    timeout: 120_000 + rounds * 20_000,
  }, async (t) => {
    const dataDir = dataDirectory(t)
    for (let round = 0; round < rounds; round++) {
      const kmd = await start(t, { dataDir })
      assert.deepEqual(await problems(kmd), [])
      for (const wallet of await kmd.wallets()) await kmd.unlock(wallet.id, 'pw')
      const creating = Promise.allSettled(Array.from({ length: 4 }, (_, i) => kmd.create(`${round}-${i}`, 'pw')))
      await sleep((round * 7) % 40)
      await kmd.stop('SIGKILL')
      await creating
    }
    const kmd = await startHosted(t, { dataDir })
    assert.deepEqual(await problems(kmd), [])
    const names = new Set(await kmd.walletNames())
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 4; i++) if (!names.has(`${round}-${i}`)) await kmd.create(`${round}-${i}`, 'pw')
    }
    t.diagnostic(`${names.size} of ${rounds * 4} were created before a kill`)
  })
})
