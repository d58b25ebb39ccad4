/** Tests the paths that the Go daemon does not have: health, metrics, changing a password, removing a wallet. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { suite, test } from 'node:test'
import { version } from '@latchkey/kmd'
import { type Kmd, startHosted, startInProcess } from './commands.test.helper.js'

const wrongPassword = 'error decrypting. wrong password?'
const prefix = '/latchkey/v1'

suite('endpoints of Latchkey', { concurrency: 2 }, () => {
  test('every path requires the token', async (t) => {
    const kmd = await startInProcess(t)
    const id = await kmd.create('w', 'pw')
    for (const [method, path] of [
      ['GET', 'health'],
      ['GET', 'metrics'],
      ['POST', 'wallet/password'],
      ['POST', 'wallet/delete'],
    ] as const) {
      const body = method === 'POST' ? { wallet_id: id, wallet_password: 'pw' } : undefined
      for (const token of [null, 'x'.repeat(64), kmd.token.toUpperCase()]) {
        const { status, json } = await kmd.call(method, `${prefix}/${path}`, body, { token })
        assert.deepEqual([status, json?.message], [401, 'invalid API token'], `${method} ${path}`)
      }
    }
    await kmd.unlock(id, 'pw')
  })

  test('health reports the state of the daemon and its directory', async (t) => {
    const kmd = await startHosted(t)
    const health = async () => await kmd.ok('GET', `${prefix}/health`)
    const { uptime_seconds = 0, command, ...fresh } = await health()
    assert.match(command?.at(-1) ?? '', /^\/.*latchkey/)
    assert.deepEqual(fresh, { status: 'ok', version })
    assert.ok(uptime_seconds >= 0 && uptime_seconds < 60)
    await kmd.unlock(await kmd.create('w', ''), '')
    const { wallets, open_handles } = await health()
    assert.deepEqual({ wallets, open_handles }, { wallets: 1, open_handles: 1 })
    renameSync(kmd.walletPath(), kmd.path('moved'))
    const ill = await kmd.call('GET', `${prefix}/health`)
    assert.equal(ill.status, 500)
    assert.match(ill.json.message, /no such file or directory/)
  })

  test('metrics are Prometheus text, and count', async (t) => {
    const kmd = await startInProcess(t)
    const id = await kmd.create('w', 'pw')
    const handle = await kmd.unlock(id, 'pw')
    await kmd.tryUnlock(id, 'wrong')
    for (let i = 0; i < 3; i++) await kmd.generate(handle)
    const response = await kmd.call('GET', `${prefix}/metrics`)
    assert.equal(response.status, 200)
    assert.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    const { samples, types } = parsePrometheus(response.text)
    const requests = (operation: string, status: number) =>
      samples.get(`latchkey_requests_total{operation="${operation}",status="${status}"}`)
    assert.equal(types.get('latchkey_requests_total'), 'counter')
    assert.equal(requests('GenerateKey', 200), 3)
    assert.equal(requests('InitWalletHandleToken', 200), 1)
    assert.equal(requests('InitWalletHandleToken', 401), 1)
    assert.equal(samples.get('latchkey_request_seconds_count{operation="GenerateKey"}'), 3)
    assert.ok(samples.get('latchkey_request_seconds_sum{operation="GenerateKey"}')! > 0)
    assert.equal(samples.get('latchkey_open_handles'), 1)
    assert.ok(samples.get('process_resident_memory_bytes')! > 1e7)
    // Callers' input never becomes a name, so the number of series stays bounded.
    for (let i = 0; i < 20; i++) await kmd.call('GET', `/v1/nope${i}`)
    const after = parsePrometheus((await kmd.call('GET', `${prefix}/metrics`)).text)
    assert.ok(after.samples.size <= samples.size + 3)
  })

  test('changing the password rejects the old one, ends handles and keeps the keys', async (t) => {
    const kmd = await startHosted(t)
    const [id, other] = [await kmd.create('w', 'old'), await kmd.create('other', 'old')]
    const handles = [await kmd.unlock(id, 'old'), await kmd.unlock(id, 'old')]
    const otherHandle = await kmd.unlock(other, 'old')
    const address = await kmd.generate(handles[0]!)
    const before = await exportKey(kmd, handles[0]!, address, 'old')
    const change = { wallet_id: id, wallet_password: 'wrong', new_wallet_password: 'new' }
    const refused = await kmd.call('POST', `${prefix}/wallet/password`, change)
    assert.deepEqual([refused.status, refused.json.message], [400, wrongPassword])
    assert.deepEqual(await kmd.keys(handles[0]!), [address])

    assert.deepEqual(await kmd.ok('POST', `${prefix}/wallet/password`, { ...change, wallet_password: 'old' }), {})
    for (const handle of handles) {
      const { status, json } = await kmd.call('POST', '/v1/key/list', { wallet_handle_token: handle })
      assert.deepEqual([status, json.message], [401, 'handle does not exist'])
    }
    assert.deepEqual(await kmd.keys(otherHandle), [])
    const old = await kmd.tryUnlock(id, 'old')
    assert.deepEqual([old.status, old.json.message], [401, wrongPassword])
    const handle = await kmd.unlock(id, 'new')
    assert.deepEqual(await kmd.keys(handle), [address])
    assert.equal(await exportKey(kmd, handle, address, 'new'), before)
    await kmd.unlock(other, 'old')

    await kmd.stop('SIGKILL')
    const again = await startHosted(t, { dataDir: kmd.dataDir })
    assert.equal((await again.tryUnlock(id, 'old')).status, 401)
    assert.equal(await exportKey(again, await again.unlock(id, 'new'), address, 'new'), before)
  })

  test('a password can be changed to blank and back; an unknown wallet is an error', async (t) => {
    const kmd = await startInProcess(t)
    const id = await kmd.create('w', 'pw')
    await kmd.ok('POST', `${prefix}/wallet/password`, { wallet_id: id, wallet_password: 'pw' })
    await kmd.unlock(id, '')
    await kmd.ok('POST', `${prefix}/wallet/password`, { wallet_id: id, new_wallet_password: 'pw' })
    await kmd.unlock(id, 'pw')
    const unknown = await kmd.call('POST', `${prefix}/wallet/password`, { wallet_id: 'f'.repeat(32) })
    assert.deepEqual([unknown.status, unknown.json.message], [400, 'wallet not found'])
  })

  test('removing a wallet requires its password and renames the file; renaming it back restores it', async (t) => {
    const kmd = await startInProcess(t)
    const id = await kmd.create('w', 'pw')
    const handle = await kmd.unlock(id, 'pw')
    const address = await kmd.generate(handle)
    const remove = (wallet_password: string) =>
      kmd.call('POST', `${prefix}/wallet/delete`, { wallet_id: id, wallet_password })
    for (const password of ['wrong', '']) {
      const refused = await remove(password)
      assert.deepEqual([refused.status, refused.json.message], [400, wrongPassword])
    }
    assert.deepEqual(await kmd.keys(handle), [address])

    const removed = await remove('pw')
    assert.equal(removed.status, 200)
    const { moved_to } = removed.json
    assert.ok(basename(moved_to).startsWith(`w.${id}.db.deleted-`), moved_to)
    assert.deepEqual(readdirSync(kmd.walletPath()), [basename(moved_to)])
    assert.equal(statSync(moved_to).mode & 0o077, 0)
    assert.deepEqual(await kmd.wallets(), [])
    const ended = await kmd.call('POST', '/v1/key/list', { wallet_handle_token: handle })
    assert.deepEqual([ended.status, ended.json.message], [401, 'handle does not exist'])
    assert.equal((await kmd.tryUnlock(id, 'pw')).json.message, 'wallet not found')
    assert.equal((await remove('pw')).json.message, 'wallet not found')

    // The name is free, and the old file does not block a new one.
    const second = await kmd.create('w', 'pw')
    assert.notEqual(second, id)
    renameSync(moved_to, kmd.walletPath(`w.${id}.db`))
    assert.equal((await kmd.wallets()).length, 2)
    assert.deepEqual(await kmd.keys(await kmd.unlock(id, 'pw')), [address])
    assert.equal(existsSync(moved_to), false)
  })
})

async function exportKey(kmd: Kmd, handle: string, address: string, wallet_password: string): Promise<string> {
  const body = { wallet_handle_token: handle, address, wallet_password }
  return (await kmd.ok('POST', '/v1/key/export', body)).private_key
}

/** Parses the text format 0.0.4 strictly: every sample belongs to an announced family, and no sample occurs twice. */
function parsePrometheus(text: string): { samples: Map<string, number>; types: Map<string, string> } {
  const samples = new Map<string, number>()
  const types = new Map<string, string>()
  assert.ok(text.endsWith('\n'))
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    if (comment !== null) {
      if (comment[1] === 'TYPE') {
        assert.match(comment[3]!, /^(counter|gauge|histogram|summary|untyped)$/)
        assert.ok(!types.has(comment[2]!), line)
        types.set(comment[2]!, comment[3]!)
      }
      continue
    }
    const label = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
    const sample = new RegExp(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{${label}(?:,${label})*\\})? (\\S+)$`).exec(line)
    assert.ok(sample !== null, `not a sample: ${line}`)
    const family = sample[1]!.replace(/_(sum|count)$/, '')
    assert.ok(types.has(sample[1]!) || types.has(family), `of no family: ${line}`)
    const value = Number(sample[3])
    assert.ok(Number.isFinite(value), line)
    const name = `${sample[1]}${sample[2] ?? ''}`
    assert.ok(!samples.has(name), `twice: ${line}`)
    samples.set(name, value)
  }
  return { samples, types }
}
