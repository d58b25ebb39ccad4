/** Concurrent requests: nothing is lost or done twice, and too many are rejected. */
import assert from 'node:assert/strict'
import { copyFileSync, readdirSync } from 'node:fs'
import { suite, test } from 'node:test'
import { Address, Ed25519, KeyDerivation } from '@latchkey/algorand'
import { DatabaseSync } from '@photostructure/sqlite'
import { type Kmd, slowDrivers, start, type TestResponse, until } from './commands.test.helper.js'

const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

/** Returns the first addresses of a master derivation key; indexes start at 1. */
function derived(masterDerivationKey: Uint8Array, count: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    Address.encode(Ed25519.publicKey(KeyDerivation.seed(masterDerivationKey, i + 1))),
  )
}

suite('concurrency', { concurrency: 2 }, () => {
  test('50 keys generated at once are the first 50 of the sequence, on one handle or on many', async (t) => {
    const kmd = await start(t)
    const masterDerivationKey = Buffer.alloc(32, 7)
    for (const handles of [1, 5]) {
      const more = { master_derivation_key: masterDerivationKey.toString('base64') }
      const id = await kmd.create(`by ${handles}`, 'pw', more)
      await kmd.wallets()
      const open = await times(handles, () => kmd.unlock(id, 'pw'))
      const generated = await times(50, (index) => kmd.generate(open[index % handles]!))
      assert.equal(new Set(generated).size, 50)
      assert.deepEqual([...generated].sort(), derived(masterDerivationKey, 50).sort())
      assert.deepEqual([...(await kmd.keys(open[0]!))].sort(), [...generated].sort())
      assert.equal(await kmd.generate(open[0]!), derived(masterDerivationKey, 51)[50])
    }
  })

  test('a created wallet is found by every later request', async (t) => {
    const kmd = await start(t)
    for (let round = 0; round < 5; round++) {
      const id = await kmd.create(`w${round}`, '')
      const responses = await times(10, () => kmd.tryUnlock(id, ''))
      assert.deepEqual(
        responses.map(({ status }) => status),
        Array(10).fill(200),
      )
    }
  })

  test('a taken name is rejected for every later request', async (t) => {
    const kmd = await start(t)
    for (let round = 0; round < 5; round++) {
      const body = { wallet_name: `w${round}`, wallet_driver_name: 'sqlite' }
      await kmd.ok('POST', '/v1/wallet', body)
      const responses = await times(10, () => kmd.call('POST', '/v1/wallet', body))
      assert.deepEqual(
        responses.map(({ status }) => status),
        Array(10).fill(400),
      )
    }
    assert.equal((await kmd.wallets()).length, 5)
  })

  test('of many creations with one name, exactly one succeeds', async (t) => {
    const kmd = await start(t)
    const body = { wallet_name: 'only', wallet_driver_name: 'sqlite', wallet_password: '' }
    const responses = await times(20, () => kmd.call('POST', '/v1/wallet', body))
    assertOneSucceeded(responses)
    assert.deepEqual(await kmd.walletNames(), ['only'])
    assert.equal(readdirSync(kmd.walletPath()).length, 1)
  })

  test('of many renamings to one name, exactly one succeeds', async (t) => {
    const kmd = await start(t)
    const ids = await times(8, (index) => kmd.create(`w${index}`, ''))
    await kmd.wallets()
    const responses = await Promise.all(
      ids.map((wallet_id) => kmd.call('POST', '/v1/wallet/rename', { wallet_id, wallet_name: 'wanted' })),
    )
    assertOneSucceeded(responses)
    assert.equal((await kmd.walletNames()).filter((name) => name === 'wanted').length, 1)
  })

  test('30 unlocks at once give 30 handles that all work', async (t) => {
    const kmd = await start(t)
    const id = await kmd.create('w', 'pw')
    const address = await kmd.generate(await kmd.unlock(id, 'pw'))
    await kmd.wallets()
    const handles = await times(30, () => kmd.unlock(id, 'pw'))
    assert.equal(new Set(handles).size, 30)
    assert.deepEqual(
      await Promise.all(handles.map((handle) => kmd.keys(handle))),
      handles.map(() => [address]),
    )
  })

  test('concurrent deletions, generations, imports and lists are consistent with their responses', async (t) => {
    const kmd = await start(t)
    const id = await kmd.create('w', '')
    const handle = await kmd.unlock(id, '')
    const expected = new Set<string>()
    await times(12, async (index) => {
      const generated = await kmd.generate(handle)
      expected.add(generated)
      const private_key = Buffer.alloc(32, index + 1).toString('base64')
      const imported = await kmd.ok('POST', '/v1/key/import', { wallet_handle_token: handle, private_key })
      expected.add(imported.address)
      const listed = await kmd.keys(handle)
      assert.ok(listed.includes(generated) && listed.includes(imported.address))
      if (index % 2 === 0) {
        await kmd.ok('DELETE', '/v1/key', { wallet_handle_token: handle, address: generated, wallet_password: '' })
        expected.delete(generated)
        assert.ok(!(await kmd.keys(handle)).includes(generated))
      }
    })
    assert.deepEqual(new Set(await kmd.keys(handle)), expected)
  })

  test('of many imports of one key, exactly one succeeds', async (t) => {
    const kmd = await start(t)
    const handle = await kmd.unlock(await kmd.create('w', ''), '')
    const private_key = Buffer.alloc(32, 9).toString('base64')
    const responses = await times(10, () =>
      kmd.call('POST', '/v1/key/import', { wallet_handle_token: handle, private_key }),
    )
    const messages = responses.filter(({ status }) => status !== 200).map(({ status, json }) => [status, json.message])
    assert.deepEqual(messages, Array(9).fill([400, 'key already exists in wallet']))
    assert.equal((await kmd.keys(handle)).length, 1)
  })

  test('a password change during unlocks leaves no handle of the old password', async (t) => {
    const kmd = await start(t)
    const id = await kmd.create('w', 'old')
    const change = { wallet_id: id, wallet_password: 'old', new_wallet_password: 'new' }
    await kmd.wallets()
    const unlocking = times(3, () => kmd.tryUnlock(id, 'old'))
    await kmd.ok('POST', '/latchkey/v1/wallet/password', change)
    const handles = (await unlocking).filter(({ status }) => status === 200)
    for (const { json } of handles) {
      const response = await kmd.call('POST', '/v1/key/list', { wallet_handle_token: json.wallet_handle_token })
      assert.equal(response.status, 401)
    }
    await kmd.unlock(id, 'new')
  })

  test('more derivations than the queue holds: 503 with the time to wait, while other requests are served', async (t) => {
    const kmd = await start(t, { settings: slowDrivers })
    const ids = await multiply(kmd, await kmd.create('slow', 'pw'), 50)
    const responses: TestResponse[] = []
    // Spread over wallets, because three at once for one wallet is a separate limit.
    const all = Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        kmd.tryUnlock(ids[index % ids.length]!, 'pw').then(
          (response) => responses.push(response),
          () => undefined,
        ),
      ),
    )
    const busy = () => responses.filter(({ status }) => status === 503)
    await until('the queue to be full', () => busy().length >= 10)
    for (const { json, headers } of busy()) {
      assert.equal(
        json.message,
        'too many wallets are being unlocked at once; wait as long as Retry-After says, then try again',
      )
      assert.ok(Number(headers['retry-after']) >= 1, `Retry-After: ${headers['retry-after']}`)
    }
    await kmd.wallets()
    assert.ok(responses.length < 150, 'a listing had to wait for the derivations')
    assert.ok(busy().length <= 150 - 128, `${busy().length} were sent away`)
    await kmd.stop('SIGKILL')
    await all
  })
})

/** Copies a wallet under new ids, which is faster than creating slow ones. */
async function multiply(kmd: Kmd, id: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => index.toString(16).padStart(32, '0'))
  for (const copy of ids) {
    copyFileSync(kmd.walletPath(`slow.${id}.db`), kmd.walletPath(`${copy}.db`))
    const database = new DatabaseSync(kmd.walletPath(`${copy}.db`))
    database.prepare('UPDATE metadata SET wallet_id = ?, wallet_name = ?').run(Buffer.from(copy), Buffer.from(copy))
    database.close()
  }
  await until('the copies to be listed', async () => (await kmd.wallets()).length === count + 1)
  return ids
}

function assertOneSucceeded(responses: TestResponse[]): void {
  assert.equal(responses.filter(({ status }) => status === 200).length, 1)
  for (const { status, json } of responses) {
    if (status !== 200) assert.deepEqual([status, json.message], [400, 'wallet with same name already exists'])
  }
}
