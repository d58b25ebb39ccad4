/** Tests `latchkey audit ...` with a daemon and without one, and with anchors on a devnet. */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import * as Sqlite from '@latchkey/system/sqlite'
import { atEnd, type Json, startHosted, suiteScope, temporaryDirectory } from '../process/commands.test.helper.js'
import { Money } from '../process/money.test.helper.js'
import type { Outcome } from '../support/latchkey.test.helper.js'

const databaseName = 'latchkey_state.db'

function sql(dataDir: string, statement: string): void {
  const database = Sqlite.open(join(dataDir, databaseName))
  database.exec(statement)
  Sqlite.close(database)
}

suite('latchkey audit', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  let money: Money

  before(async () => {
    money = await Money.start(scope)
  })

  const audit = (...args: string[]): Promise<Outcome> => money.run(['audit', ...args])

  async function ok(...args: string[]): Promise<Json> {
    const { code, stdout, stderr } = await audit(...args, '--json')
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }

  /** Copies the files in their current state, to be modified. */
  function copy(): string {
    const directory = join(temporaryDirectory(scope), 'kmd-v0.5')
    cpSync(money.kmd.dataDir, directory, { recursive: true, filter: (path) => !path.endsWith('kmd.lock') })
    for (const name of ['kmd.net', 'kmd.pid']) rmSync(join(directory, name), { force: true })
    return directory
  }

  test('tail, search and export show the records, from the daemon and from the file', async () => {
    const wrong = await money.run(['key', 'list', '--wallet', 'spending', '--password-file', join(money.home, 'no')])
    assert.notEqual(wrong.code, 0)
    const tail = await audit('tail', '-n', '3')
    assert.equal(tail.code, 0, tail.stderr)
    assert.equal(tail.stdout.trimEnd().split('\n').length, 3)
    assert.match(
      tail.stdout,
      /^[0-9]+ {2}20[0-9-]+T[0-9:.]+Z {2}key_imported {2}owner {2}wallet others {2}[A-Z2-7]{58}$/m,
    )
    const { records } = await ok('search', '--event', 'wallet_created')
    assert.deepEqual(
      records.map(({ record }: Json) => record.detail.wallet_name),
      ['others', 'spending'],
    )
    assert.deepEqual((await ok('search', 'OTHERS', '--event', 'wallet_created', '--since', '1h')).records.length, 1)
    assert.deepEqual((await ok('search', '--wallet', 'spending', '--until', '2020-01-01')).records, [])
    // A truncated list is reported as such.
    assert.equal((await ok('search', '--event', 'wallet_created')).hasMore, false)
    assert.equal((await ok('search', '--event', 'wallet_created', '-n', '1')).hasMore, true)
    const cut = await audit('search', '--event', 'wallet_created', '-n', '1')
    assert.match(cut.stderr, /Showing the newest 1 records; older ones may match too\. To show more, raise --count\./)
    const files = copy()
    for (const more of [[], ['-d', files]]) {
      const lines = (await audit('export', ...more)).stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Json)
      assert.deepEqual(
        lines.slice(0, 2).map(({ number, record }) => [number, record.event]),
        [
          [1, 'wallet_created'],
          [2, 'wallet_unlocked'],
        ],
      )
      assert.equal(lines[1].previous, lines[0].hash)
    }
    const path = join(money.home, 'audit.csv')
    assert.equal((await audit('export', '--format', 'csv', '-o', path)).code, 0)
    const [head, first] = readFileSync(path, 'utf8').split('\r\n')
    assert.equal(head, 'number,time,event,actor,wallet,address,transaction,detail,previous,hash')
    assert.match(
      first!,
      /^1,20[0-9T:.-]+Z,wallet_created,owner,[0-9a-f]{32},,,"\{""wallet_name"":""spending""\}",0{64},[0-9a-f]{64}$/,
    )
    const again = await audit('export', '-o', path)
    assert.deepEqual([again.code, again.stdout], [3, ''])
    assert.match(again.stderr, /exists/)
  })

  test('verify passes on an intact log, needs no daemon, and has an exit code for a broken log', async () => {
    const verified = await ok('verify')
    assert.deepEqual([verified.ok, verified.problem], [true, null])
    assert.equal((await ok('verify', '--by-daemon')).headHash, verified.headHash)
    const files = copy()
    assert.equal((await ok('verify', '-d', files)).records, verified.records)
    sql(files, "UPDATE audit SET record = replace(record, 'spending', 'pending') WHERE number = 1")
    const broken = await audit('verify', '-d', files, '--json')
    assert.equal(broken.code, 9)
    const { ok: isOk, problem, records } = JSON.parse(broken.stdout)
    assert.deepEqual([isOk, problem.type, problem.number, records], [false, 'altered', 1, 0])
    assert.match(broken.stderr, /the audit log was altered: record 1 was altered/)
    sql(files, 'DELETE FROM audit')
    assert.equal((await audit('verify', '-d', files)).code, 9)
    for (const name of readdirSync(files)) if (name.startsWith(databaseName)) rmSync(join(files, name))
    const gone = await audit('verify', '-d', files)
    assert.equal(gone.code, 9)
    assert.match(gone.stderr, /there is no audit log, but latchkey_audit.head records a log with \d+/)
    const usage = await audit('verify', '--anchor', 'nonsense')
    assert.deepEqual([usage.code, usage.stdout], [2, ''])
  })

  test('an anchor is sent, recorded and found on chain; a replaced log does not match it', async (t) => {
    const anchored = await ok('anchor', '--yes', '--wallet', 'spending')
    assert.deepEqual([anchored.state, anchored.from], ['confirmed', money.accounts.alice.address])
    const { records } = await ok('search', '--event', 'log_anchored')
    assert.equal(records[0].record.transaction, anchored.id)
    const { txn } = (await money.algod.pendingTransactionInformation(anchored.id).do()).txn
    assert.equal(Buffer.from(txn.note).toString(), `latchkey/audit/1:${anchored.number}:${anchored.hash}`)
    const onChain = await ok('verify', '--on-chain')
    assert.deepEqual(
      onChain.confirmed.map(({ transaction }: Json) => transaction),
      [anchored.id],
    )
    const byId = await audit('verify', '--anchor', anchored.id)
    assert.match(
      byId.stdout,
      new RegExp(`Record ${anchored.number} and all records before it are anchored by transaction`),
    )
    const other = await startHosted(t, {})
    for (let index = 0; index < anchored.number; index++) await other.create(`w${index}`, '')
    assert.equal((await audit('verify', '-d', other.dataDir)).code, 0, 'every hash of it is right')
    const replaced = await audit('verify', '-d', other.dataDir, '--anchor', anchored.id)
    assert.deepEqual([replaced.code, replaced.stdout], [9, ''])
    assert.match(replaced.stderr, new RegExp(`record ${anchored.number} does not match the anchor ${anchored.id}`))
    const unknown = await audit('verify', '--anchor', 'A'.repeat(52))
    assert.equal(unknown.code, 3)
    const noAnchor = await money.run([
      'send',
      '0.1 ALGO',
      money.accounts.bob.address,
      '--from',
      money.accounts.alice.address,
      '--wallet',
      'spending',
      '--yes',
      '--json',
    ])
    const wrong = await audit('verify', '--anchor', JSON.parse(noAnchor.stdout).id)
    assert.match(wrong.stderr, /contains no audit log anchor/)
    atEnd(t, () => {})
  })

  test('untrusted text becomes neither a formula nor a control character', async (t) => {
    const kmd = await startHosted(t)
    await kmd.create('=HYPERLINK("http://x")', '')
    await kmd.create('\u001b[2J\u202e@SUM(1)', '')
    const run = (...args: string[]): Promise<Outcome> => money.run(['audit', ...args, '-d', kmd.dataDir])
    for (const args of [['tail'], ['tail', '--json'], ['search'], ['search', '--json']]) {
      const { code, stdout } = await run(...args)
      assert.equal(code, 0)
      assert.doesNotMatch(stdout, /[\u001b\u202e]/, args.join(' '))
    }
    const { stdout } = await run('export', '--format', 'csv')
    for (const cell of stdout.split(/,|\r\n/)) assert.doesNotMatch(cell, /^"?[=+@-]/)
  })
})
