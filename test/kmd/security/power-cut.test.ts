/** A power failure right after a response: acknowledged changes are there after the next start. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { configure, Kmd, temporaryDirectory } from '../../process/commands.test.helper.js'
import { startDaemon } from '../../support/daemon.test.helper.js'
import { type PowerCut, powerCut } from './powerCut.test.helper.js'

type Machine = { cut: PowerCut; dataDir: string; wallets: string; start: () => Promise<Kmd> }

/** Returns a machine whose power can fail, or undefined without a compiler. */
function machine(t: TestContext): Machine | undefined {
  const workspace = temporaryDirectory(t)
  const dataDir = join(workspace, 'kmd-v0.5')
  mkdirSync(dataDir, { mode: 0o700 })
  configure(dataDir, {})
  // Otherwise the daemon would write the file and sync the directory for it.
  writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64), { mode: 0o600 })
  const cut = powerCut(workspace, dataDir)
  if (cut === undefined) {
    t.skip('g++ is not installed')
    return undefined
  }
  const start = async (): Promise<Kmd> => {
    const daemon = await startDaemon({ dir: dataDir, config: null, token: null, env: cut.env })
    t.after(() => daemon.kill())
    return new Kmd(daemon)
  }
  return { cut, dataDir, wallets: join(dataDir, 'sqlite_wallets'), start }
}

suite('power cut', () => {
  test('K7 an acknowledged wallet change survives a power failure', async (t) => {
    const computer = machine(t)
    if (computer === undefined) return
    const { cut, wallets, start } = computer
    let kmd = await start()
    const id = await kmd.create('w', 'pw')
    const failAndRestart = async (): Promise<void> => {
      await kmd.stop('SIGKILL')
      cut.cut(wallets)
      kmd = await start()
    }
    await failAndRestart()
    const generated = await kmd.generate(await kmd.unlock(id, 'pw'))
    await failAndRestart()
    assert.deepEqual(await kmd.keys(await kmd.unlock(id, 'pw')), [generated], 'the key is there')
    await kmd.ok('POST', '/v1/wallet/rename', { wallet_id: id, wallet_password: 'pw', wallet_name: 'renamed' })
    await failAndRestart()
    assert.deepEqual(await kmd.walletNames(), ['renamed'])
    const change = { wallet_id: id, wallet_password: 'pw', new_wallet_password: 'new' }
    await kmd.ok('POST', '/latchkey/v1/wallet/password', change)
    await failAndRestart()
    const handle = await kmd.unlock(id, 'new')
    const key = { wallet_handle_token: handle, address: generated, wallet_password: 'new' }
    await kmd.ok('DELETE', '/v1/key', key)
    await failAndRestart()
    assert.deepEqual(await kmd.keys(await kmd.unlock(id, 'new')), [], 'the deleted key does not return')
  })

  test('K7 no directory change is unsynced when a response arrives', async (t) => {
    const computer = machine(t)
    if (computer === undefined) return
    const { cut, wallets, dataDir, start } = computer
    const kmd = await start()
    // Files about the process itself are useless after a power failure.
    const unsynced = (): string[] => cut.unsynced().filter((line) => !/kmd\.(net|pid|lock|log)/.test(line))
    assert.deepEqual(unsynced(), [], 'after the start')
    const id = await kmd.create('w', 'pw')
    assert.deepEqual(unsynced(), [], 'a new wallet')
    await kmd.generate(await kmd.unlock(id, 'pw'))
    assert.deepEqual(unsynced(), [], 'a new key')
    for (let i = 0; i < 3; i++) assert.notEqual((await kmd.tryUnlock(id, `wrong ${i}`)).status, 200)
    assert.ok(readdirSync(dataDir).includes('latchkey_failures.json'))
    assert.deepEqual(unsynced(), [], 'wrong passwords')
    await kmd.ok('POST', '/latchkey/v1/wallet/delete', { wallet_id: id, wallet_password: 'pw' })
    assert.deepEqual(unsynced(), [], 'a deleted wallet')
    assert.ok(readdirSync(wallets).every((name) => !name.endsWith('.unsynced')))
  })
})
