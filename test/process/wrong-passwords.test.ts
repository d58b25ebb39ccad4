/** Tests wrong passwords: the wait grows with each one, for that wallet only. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { type Kmd, sleep, startHosted, type TestResponse, timed, until } from './commands.test.helper.js'

const wrongPassword = 'error decrypting. wrong password?'
/** Waits are a quarter of a second and its doublings; anything without a wait is far quicker than the first. */
const atOnceMs = 200
const timerSlackMs = 20

async function guess(kmd: Kmd, id: string): Promise<number> {
  const { result, elapsedMs } = await timed(kmd.tryUnlock(id, 'guess'))
  assert.equal(result.status, 401)
  assert.equal(result.json.message, wrongPassword)
  return elapsedMs
}

/**
 * Checks that the work completes without a wait. A busy machine may need a few tries to show it; a wait would occur
 * every time.
 */
async function assertAtOnce(work: () => Promise<unknown>, what: string): Promise<void> {
  const tries: number[] = []
  while (tries.length < 5) {
    const { elapsedMs } = await timed(work())
    if (elapsedMs < atOnceMs) return
    tries.push(Math.round(elapsedMs))
  }
  assert.fail(`${what} took ${tries} ms`)
}

type Attempt = () => Promise<TestResponse>

/** Makes five wrong attempts, of which the last two have to wait. Returns when the third was made. */
async function threeFreeThenWaits(attempts: readonly Attempt[]): Promise<number> {
  let thirdAt = 0
  for (const [index, attempt] of attempts.entries()) {
    if (index === 2) thirdAt = performance.now()
    const { status, json } = await attempt()
    assert.deepEqual([status, json.message], [400, wrongPassword])
  }
  assert.ok(performance.now() - thirdAt > 750 - timerSlackMs, 'the fourth and the fifth did not wait')
  return thirdAt
}

suite('wrong passwords', { concurrency: 2 }, () => {
  test('wrong passwords for one wallet', { concurrency: true }, async (t) => {
    // One daemon for all tests: counts are kept by wallet, and starting other daemons would take the time that is
    // measured here.
    const kmd = await startHosted(t)

    const doubling = t.test(
      'the first three are free, then each one doubles the wait; the right one resets it',
      async () => {
        const [id, other] = [await kmd.create('guessed', 'pw'), await kmd.create('other', 'pw')]
        let thirdAt = 0
        /** Returns how long the slowest of three guesses after the right password took. */
        const threeGuesses = async () => {
          await kmd.unlock(id, 'pw')
          const took = [await guess(kmd, id), await guess(kmd, id)]
          thirdAt = performance.now()
          return Math.max(...took, await guess(kmd, id))
        }
        let tries = 0
        while ((await threeGuesses()) >= atOnceMs) assert.ok(++tries < 3, 'the first three have to wait')
        // Waits count from the previous guess, so they add up from the third, however late its response arrives.
        for (const leastMs of [250, 750, 1_750]) {
          await guess(kmd, id)
          const sinceMs = performance.now() - thirdAt
          assert.ok(sinceMs > leastMs - timerSlackMs, `${sinceMs} ms after the third, not ${leastMs}`)
        }
        const right = kmd.unlock(id, 'pw')
        // Other wallets do not wait, and neither do requests without a password.
        await assertAtOnce(() => kmd.unlock(other, 'pw'), 'unlocking another wallet')
        await assertAtOnce(() => kmd.wallets(), 'a listing')
        await right
        assert.ok(performance.now() - thirdAt > 3_750 - timerSlackMs, 'the right password does not wait')
        await assertAtOnce(() => kmd.unlock(id, 'pw'), 'unlocking after the right password')
        tries = 0
        while ((await threeGuesses()) >= atOnceMs) assert.ok(++tries < 3, 'the streak was not ended')
      },
    )

    const doorwise = t.test(
      'count per wallet in every operation by its id, and per handle on that handle',
      async () => {
        const id = await kmd.create('behind attempts', 'pw')
        const handle = await kmd.unlock(id, 'pw')
        const address = await kmd.generate(handle)
        const key = { wallet_handle_token: handle, address, wallet_password: 'guess' }
        const byId = { wallet_id: id, wallet_password: 'guess' }
        const onHandle: Attempt[] = [
          () => kmd.call('POST', '/v1/key/export', key),
          () => kmd.call('POST', '/v1/master-key/export', { wallet_handle_token: handle, wallet_password: 'guess' }),
          () => kmd.call('DELETE', '/v1/key', key),
          () => kmd.call('DELETE', '/v1/multisig', key),
          () => kmd.call('POST', '/v1/program/sign', { ...key, data: 'AQ==' }),
        ]
        const onWallet: Attempt[] = [
          () => kmd.call('POST', '/v1/wallet/rename', { ...byId, wallet_name: 'x' }),
          () => kmd.call('POST', '/latchkey/v1/wallet/password', byId),
          () => kmd.call('POST', '/latchkey/v1/wallet/delete', byId),
          () => kmd.call('POST', '/v1/wallet/rename', { ...byId, wallet_name: 'x' }),
          () => kmd.call('POST', '/latchkey/v1/wallet/password', byId),
        ]
        const thirdAt = await threeFreeThenWaits(onHandle)
        // Operations without a password continue; the others wait even with the right one.
        await assertAtOnce(() => kmd.keys(handle), 'a listing')
        const right = { ...key, wallet_password: 'pw' }
        await kmd.ok('POST', '/v1/key/export', right)
        assert.ok(performance.now() - thirdAt > 1_750 - timerSlackMs, 'the right password does not wait')
        await assertAtOnce(() => kmd.ok('POST', '/v1/key/export', right), 'an export after the right password')
        await threeFreeThenWaits(onWallet)
        await assertAtOnce(() => kmd.ok('POST', '/v1/key/export', right), 'an export while the wallet is guessed at')
      },
    )

    const parallel = t.test('concurrent guesses get no more attempts than sequential guesses', async () => {
      const id = await kmd.create('stormed', 'pw')
      await kmd.wallets()
      const responses: TestResponse[] = []
      const startedMs = performance.now()
      for (let i = 0; i < 100; i++) {
        // Queued requests wait longer than this test; they end with the daemon.
        kmd.tryUnlock(id, 'guess').then(
          (response) => responses.push(response),
          () => undefined,
        )
      }
      // 64 are queued or checked. The others are turned away: as busy before the first was wrong, as guesses after it.
      const sentAway = (): TestResponse[] => responses.filter(({ status }) => status === 429 || status === 503)
      await until('guesses to be sent away', () => sentAway().length >= 36)
      const lookedAt = (): number => responses.filter(({ status }) => status === 401).length
      await until('the free guesses to be looked at', () => lookedAt() >= 3)
      await sleep(1_000)
      const looked = lookedAt()
      const elapsedMs = performance.now() - startedMs
      // Three are free, plus one for each wait that can have passed: 250 ms, 500 ms, 1 s and so on.
      const waits = Math.floor(Math.log2(elapsedMs / 250 + 1))
      assert.ok(looked <= 3 + waits, `${looked} guesses were looked at in ${elapsedMs} ms`)
      for (const { headers } of sentAway()) assert.ok(Number(headers['retry-after']) >= 1)
    })

    await Promise.all([doubling, doorwise, parallel])
  })

  test('survive a restart, in a file that reveals nothing else', async (t) => {
    const first = await startHosted(t)
    const id = await first.create('w', 'pw')
    for (let i = 0; i < 5; i++) await guess(first, id)
    assert.equal(await first.stop('SIGKILL'), 'SIGKILL')
    const file = first.path('latchkey_failures.json')
    assert.equal(statSync(file).mode & 0o077, 0)
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(Object.keys(kept), [id])
    const second = await startHosted(t, { dataDir: first.dataDir })
    // The next attempt is the sixth, not the first: it is checked a second after the last one, and counted with them.
    await guess(second, id)
    assert.ok(Date.now() - kept[id].lastFailureMs > 950)
    assert.equal(JSON.parse(readFileSync(file, 'utf8'))[id].streak, 6)
  })

  test('waits above ten seconds are 429 with Retry-After immediately, also for the correct password', async (t) => {
    const first = await startHosted(t)
    const [id, other] = [await first.create('w', 'pw'), await first.create('other', 'pw')]
    const handle = await first.unlock(id, 'pw')
    assert.equal((await first.call('POST', '/v1/key/export', { wallet_handle_token: handle })).status, 400)
    await guess(first, id)
    await first.stop()
    // A real streak of that length takes too long, so the test writes the file.
    const file = first.path('latchkey_failures.json')
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    assert.equal(kept[id].streak, 1)
    const lastFailureMs = Date.now()
    kept[id] = { ...kept[id], streak: 10, lastFailureMs }
    writeFileSync(file, JSON.stringify(kept))
    const second = await startHosted(t, { dataDir: first.dataDir })
    for (const password of ['guess', 'pw']) {
      const { result, elapsedMs } = await timed(second.tryUnlock(id, password))
      assert.equal(result.status, 429)
      assert.ok(elapsedMs < 20_000, `answered after ${elapsedMs} ms`)
      assert.equal(
        result.json.message,
        'too many wrong passwords for this wallet; wait as long as Retry-After says, then send the right one',
      )
      const seconds = Number(result.headers['retry-after'])
      const passedSeconds = (Date.now() - lastFailureMs) / 1000
      assert.ok(seconds >= 32 - passedSeconds - 1 && seconds <= 32, `Retry-After: ${result.headers['retry-after']}`)
    }
    assert.equal(JSON.parse(readFileSync(file, 'utf8'))[id].streak, 10, 'what was not looked at is not counted')
    await assertAtOnce(() => second.unlock(other, 'pw'), 'unlocking another wallet')
  })

  test('a damaged file of counts does not prevent unlocking', async (t) => {
    const first = await startHosted(t)
    const id = await first.create('w', 'pw')
    await first.stop()
    writeFileSync(first.path('latchkey_failures.json'), '{"x":')
    const second = await startHosted(t, { dataDir: first.dataDir })
    await assertAtOnce(() => second.unlock(id, 'pw'), 'unlocking')
    await second.stop()
    const entries = { [id]: { streak: '9', level: 1, lastFailureMs: -1 }, x: { streak: 1e9 } }
    writeFileSync(first.path('latchkey_failures.json'), JSON.stringify(entries))
    const third = await startHosted(t, { dataDir: first.dataDir })
    await assertAtOnce(() => third.unlock(id, 'pw'), 'unlocking')
  })
})
