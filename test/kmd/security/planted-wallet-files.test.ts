/** A file in the wallets directory that is not a wallet: the daemon refuses it, reports it, and serves the others. */
import assert from 'node:assert/strict'
import {
  chownSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { type Kmd, start, startHosted, temporaryDirectory, until } from '../../process/commands.test.helper.js'
import { goldenDir } from '../../support/golden.test.helper.js'
import { hostedLatchkey } from '../../support/latchkey.test.helper.js'
import { damageKeys, hotJournal, loopKeys, plain, planted, run, withSuperJournal } from './plantedFiles.test.helper.js'

/** A timeout means that the daemon hangs: every request here takes milliseconds. */
const patienceMs = 60_000
const maxGrowthBytes = 200 * 2 ** 20

async function withinPatience<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const stuck = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the daemon is stuck: ${what}`)), patienceMs)
  })
  return Promise.race([work, stuck]).finally(() => clearTimeout(timer))
}

const peakBytes = (pid: number): number =>
  Number(/VmHWM:\s+([0-9]+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024

type Problems = { [file: string]: string }

async function problemsOf(kmd: Kmd): Promise<Problems> {
  const health = await kmd.ok('GET', '/latchkey/v1/health')
  const list: { file: string; problem: string }[] = health.wallet_problems ?? []
  return Object.fromEntries(list.map(({ file, problem }) => [file, problem]))
}

/** Waits until the daemon reports a problem with the file; no report is a failure too. */
const problemWith = (kmd: Kmd, file: string): Promise<string> =>
  withinPatience(
    `${file} is planted`,
    until(`a problem with ${file}`, async () => (await problemsOf(kmd))[file]),
  )

/** Moves all files of this name into the wallets directory: complete from the first moment, the database last. */
function plant(t: TestContext, kmd: Kmd, make: (path: string) => void, file = 'planted.db'): void {
  const directory = temporaryDirectory(t)
  make(`${directory}/${file}`)
  for (const name of readdirSync(directory).sort((a, b) => b.length - a.length))
    renameSync(`${directory}/${name}`, kmd.walletPath(name))
}

async function unlocked(kmd: Kmd, name = 'good') {
  const id = await kmd.create(name, 'pw')
  const handle = await kmd.unlock(id, 'pw')
  const key = await kmd.generate(handle)
  return { id, handle, key, file: `${name}.${id}.db` }
}

suite('planted wallet files', { concurrency: 2 }, () => {
  test('K1 whatever is planted, the daemon responds, lists the good wallet, and names the refused file', async (t) => {
    // The highest use of memory of a process that ran other daemons shows nothing.
    const kmd = await start(t)
    const { handle, key } = await unlocked(kmd)
    const before = peakBytes(kmd.pid)
    for (const [what, make] of Object.entries(planted)) {
      await t.test(what, async (t) => {
        plant(t, kmd, make)
        const problem = await problemWith(kmd, 'planted.db')
        t.diagnostic(problem)
        assert.deepEqual(await withinPatience('names', kmd.walletNames()), ['good'])
        assert.equal((await kmd.tryUnlock('planted', '')).json.message, 'wallet not found')
        assert.deepEqual(await kmd.keys(handle), [key])
        assert.match((await kmd.call('GET', '/latchkey/v1/metrics')).text, /^latchkey_wallet_problems 1$/m)
        const lines = kmd
          .log()
          .split('\n')
          .filter((line) => line.includes(`wallet file planted.db ${problem}`))
        assert.ok(lines.length > 0, kmd.log())
        for (const name of readdirSync(kmd.walletPath()).filter((name) => name.startsWith('planted.db')))
          rmSync(kmd.walletPath(name))
        await until('the file is forgotten', async () => (await problemsOf(kmd))['planted.db'] === undefined)
      })
    }
    assert.ok(peakBytes(kmd.pid) - before < maxGrowthBytes, `grew by ${(peakBytes(kmd.pid) - before) >> 20} MiB`)
    assert.equal(await kmd.stop(), 0)
  })

  test('K1 a refused file is logged once, and again after it has changed', async (t) => {
    const kmd = await startHosted(t)
    plant(t, kmd, planted['a trigger']!)
    const lines = (): number =>
      kmd
        .log()
        .split('\n')
        .filter((line) => line.includes('wallet file planted.db')).length
    await problemWith(kmd, 'planted.db')
    for (let i = 0; i < 20; i++) await kmd.wallets()
    assert.equal(lines(), 1)
    writeFileSync(kmd.walletPath('planted.db'), 'something else')
    await until('a second line', async () => {
      await kmd.wallets()
      return lines() === 2
    })
    rmSync(kmd.walletPath('planted.db'))
    const [golden] = readdirSync(join(goldenDir, 'wallets'))
    copyFileSync(join(goldenDir, 'wallets', golden!), kmd.walletPath('planted.db'))
    await until('a wallet in its place is listed', async () => (await kmd.wallets()).length === 1)
    assert.deepEqual(await problemsOf(kmd), {})
  })

  test('K1 an endless tree of keys, planted under an open handle, is refused and not walked', async (t) => {
    const kmd = await startHosted(t)
    const [good, bad] = [await unlocked(kmd), await unlocked(kmd, 'bad')]
    loopKeys(kmd.walletPath(bad.file))
    const list = await withinPatience(
      'listing keys',
      kmd.call('POST', '/v1/key/list', { wallet_handle_token: bad.handle }),
    )
    assert.deepEqual([list.status, list.json.message], [500, 'database error'])
    const unlocking = await withinPatience('unlocking', kmd.tryUnlock(bad.id, 'pw'))
    assert.notEqual(unlocking.status, 200)
    assert.match(await problemWith(kmd, bad.file), /uses a page twice/)
    assert.match(kmd.log(), new RegExp(`wallet file ${bad.file.replaceAll('.', '\\.')} uses a page twice`))
    assert.deepEqual(await kmd.walletNames(), ['good'])
    assert.deepEqual(await kmd.keys(good.handle), [good.key])
    assert.equal(await kmd.stop(), 0)
  })

  test('K1 a wallet with a page of zeros stays in use, and is shown as damaged', async (t) => {
    const kmd = await startHosted(t)
    const { id, handle, file } = await unlocked(kmd)
    damageKeys(kmd.walletPath(file))
    const list = await kmd.call('POST', '/v1/key/list', { wallet_handle_token: handle })
    assert.deepEqual([list.status, list.json.message], [500, 'database error'])
    assert.match(await problemWith(kmd, file), /damaged pages/)
    // Data that does not depend on the page can still be exported.
    const opened = await kmd.unlock(id, 'pw')
    await kmd.ok('POST', '/v1/master-key/export', { wallet_handle_token: opened, wallet_password: 'pw' })
  })

  test('K1 a planted journal adds nothing unchecked to a wallet', async (t) => {
    const kmd = await startHosted(t)
    plant(t, kmd, (path) => hotJournal(path, planted['a view that never ends']!))
    await problemWith(kmd, 'planted.db')
    assert.deepEqual(await kmd.walletNames(), [])
    assert.equal(await kmd.stop(), 0)
  })

  test('K1 a journal planted under an open handle adds nothing unchecked to the wallet', async (t) => {
    const kmd = await startHosted(t)
    const [good, bad] = [await unlocked(kmd), await unlocked(kmd, 'bad')]
    const directory = temporaryDirectory(t)
    hotJournal(join(directory, 'x.db'), (path) => {
      planted['a view that never ends']!(path)
      // Otherwise SQLite keeps using the schema in memory.
      run(path, 'PRAGMA schema_version = 99')
    })
    await until('the wallet is at rest', async () => {
      await kmd.keys(bad.handle)
      return Date.now() - statSync(kmd.walletPath(bad.file)).mtimeMs > 100
    })
    renameSync(join(directory, 'x.db-journal'), kmd.walletPath(`${bad.file}-journal`))
    const listing = kmd.call('POST', '/v1/wallet/info', { wallet_handle_token: bad.handle })
    const { status, json } = await withinPatience('info', listing)
    assert.deepEqual([status, json.message], [500, 'database error'])
    assert.match(await problemWith(kmd, bad.file), /has a view/)
    assert.deepEqual(await kmd.keys(good.handle), [good.key])
    assert.equal(await kmd.stop(), 0)
  })

  test('K1 a journal that names another file does not delete it', async (t) => {
    const kmd = await startHosted(t)
    const victim = kmd.path('victim')
    writeFileSync(victim, 'precious')
    plant(t, kmd, (path) => {
      hotJournal(path, plain)
      withSuperJournal(`${path}-journal`, victim)
    })
    assert.match(await problemWith(kmd, 'planted.db'), /journal that spans several databases/)
    assert.ok(existsSync(victim))
    assert.deepEqual(await kmd.walletNames(), [])
  })

  test('K1 a journal that belongs to another user is not rolled back', {
    skip: process.getuid?.() !== 0 && 'needs root',
  }, async (t) => {
    const kmd = await startHosted(t)
    plant(t, kmd, (path) => {
      hotJournal(path, plain)
      chownSync(`${path}-journal`, 65_534, 65_534)
    })
    assert.match(await problemWith(kmd, 'planted.db'), /journal that belongs to another user/)
    assert.ok(existsSync(kmd.walletPath('planted.db-journal')))
  })

  test('K1 a journal that is too large is not rolled back', async (t) => {
    const kmd = await startHosted(t)
    plant(t, kmd, (path) => {
      hotJournal(path, plain)
      truncateSync(`${path}-journal`, 2 ** 30)
    })
    assert.match(await problemWith(kmd, 'planted.db'), /journal that is too large/)
  })

  test('K1 a wallet refused because of a file next to it is listed again when that file is gone', async (t) => {
    const kmd = await startHosted(t)
    const { id, file } = await unlocked(kmd)
    // Next to an open wallet, a listed one, and one that is not listed.
    const beside = kmd.walletPath(`${file}-wal`)
    const known = kmd.walletPath(file)
    writeFileSync(beside, 'not a WAL')
    utimesSync(known, new Date(), new Date())
    assert.notEqual((await kmd.tryUnlock(id, 'pw')).status, 200)
    assert.match(await problemWith(kmd, file), /has a write-ahead log/)
    rmSync(beside)
    await until('it is listed', async () => (await kmd.walletNames()).includes('good'))
    assert.deepEqual(await problemsOf(kmd), {})
    await kmd.unlock(id, 'pw')

    plant(t, kmd, (path) => {
      plain(path)
      writeFileSync(`${path}-wal`, 'not a WAL')
    })
    assert.match(await problemWith(kmd, 'planted.db'), /has a write-ahead log/)
    rmSync(kmd.walletPath('planted.db-wal'))
    await until('the other is listed', async () => (await kmd.walletNames()).includes('planted'))
    assert.deepEqual(await problemsOf(kmd), {})
  })

  test('K1 a wallet whose name is not UTF-8 is reported, because it cannot be opened', async (t) => {
    const kmd = await startHosted(t)
    const { file } = await unlocked(kmd)
    const name = Buffer.concat([Buffer.from(kmd.walletPath('bad')), Buffer.of(0xff), Buffer.from('.db')])
    copyFileSync(kmd.walletPath(file), name)
    assert.match(await problemWith(kmd, 'bad\ufffd.db'), /not UTF-8/)
    assert.deepEqual(await kmd.walletNames(), ['good'])
    rmSync(name)
    await until('it is forgotten', async () => Object.keys(await problemsOf(kmd)).length === 0)
  })

  test('K1 a journal of a crashed program is rolled back, and the wallet listed', async (t) => {
    const kmd = await startHosted(t)
    plant(t, kmd, (path) => hotJournal(path, plain))
    await until('the wallet is listed', async () => (await kmd.walletNames()).includes('planted'))
    assert.deepEqual(await problemsOf(kmd), {})
  })

  test('K1 doctor and wallet list name refused and damaged files, with and without a daemon', async (t) => {
    const kmd = await startHosted(t)
    const good = await unlocked(kmd)
    const damaged = await unlocked(kmd, 'damaged')
    plant(t, kmd, planted['a view that never ends']!, 'view\u001b[31m.db')
    plant(t, kmd, planted['a FIFO']!, 'fifo.db')
    damageKeys(kmd.walletPath(damaged.file))
    await problemWith(kmd, 'fifo.db')
    const listed = await hostedLatchkey(['wallet', 'list'], { dataDir: kmd.dataDir })
    assert.match(listed.stdout, new RegExp(`good +${good.id}`))
    assert.match(listed.stderr, /warning: the wallet file fifo\.db is not a regular file/)
    assert.match(listed.stderr, /the wallet file view.\[31m\.db has a view that no wallet has/)
    assert.ok(!listed.stderr.includes('\u001b'))
    const doctor = async (): Promise<string> => {
      const { code, stdout } = await hostedLatchkey(['doctor'], { dataDir: kmd.dataDir })
      assert.equal(code, 3)
      assert.ok(!stdout.includes('\u001b'))
      assert.match(stdout, /fault +the wallet file .*fifo\.db is not a regular file\n +cure: restore it from a backup/)
      assert.match(stdout, /fault +the wallet file .*view.\[31m\.db has a view/)
      assert.match(stdout, /fault +the wallet file .*damaged\.[0-9a-f]+\.db has 2 damaged pages/)
      assert.match(stdout, /ok +1 wallet file\n/)
      return stdout
    }
    assert.match(await doctor(), /warning +the daemon .* is running at .*fifo\.db is not a regular file/)
    assert.equal(await kmd.stop(), 0)
    await doctor()
  })
})
