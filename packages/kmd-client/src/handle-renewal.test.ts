import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  makeDataDir,
  type Running,
  readState,
  recordingProxy,
  removeDataDir,
  startOurs,
  targets,
} from './daemons.test.helper.js'
import { Kmd, type Password, type Wallet } from './index.js'

const password = 'the password'
const renew = 'POST /v1/wallet/renew'
const init = 'POST /v1/wallet/init'

for (const target of targets) {
  test(`handle renewal: ${target.name}`, async (t) => {
    let dataDir: string
    let daemon: Running
    let wallets = 0
    let nowMs = 1_000_000

    /**
     * Latchkey's daemon shares the test's clock, which stands still in between. A daemon in another process has its
     * own.
     */
    const pass = async (ms: number): Promise<void> => {
      if (target.isOurs) nowMs += ms
      else await sleep(ms)
    }

    t.beforeEach(() => {
      if (target.isOurs) mock.method(performance, 'now', () => nowMs)
    })

    t.afterEach(() => mock.restoreAll())

    t.before(async () => {
      dataDir = makeDataDir({ sessionLifetimeSecs: 2 })
      daemon = await target.start(dataDir)
    })

    t.after(async () => {
      await daemon.stop()
      removeDataDir(dataDir)
    })

    /** Creates a new wallet, and records the requests of its client after unlocking it. */
    async function withWallet(
      options: { password?: Password; walletPassword?: string },
      use: (wallet: Wallet, seen: string[]) => Promise<void>,
    ): Promise<void> {
      const { address, token } = readState(dataDir)
      const proxy = await recordingProxy(address)
      const kmd = await Kmd.connect({ address: proxy.address, token, ...target.client })
      const created = await kmd.wallets.create({
        name: `wallet ${++wallets}`,
        password: options.walletPassword ?? password,
      })
      const wallet = await kmd.unlock({ id: created.id, password: options.password })
      proxy.seen.length = 0
      try {
        await use(wallet, proxy.seen)
      } finally {
        await wallet.release()
        await proxy.close()
      }
    }

    const count = (seen: readonly string[], what: string): number => seen.filter((entry) => entry === what).length

    await t.test('use keeps a handle alive beyond its lifetime, without a password', () =>
      withWallet({ password }, async (wallet, seen) => {
        for (let use = 0; use < 3; use++) {
          await pass(1200)
          await wallet.generateKey()
        }
        assert.equal((await wallet.keys()).length, 3)
        assert.equal(count(seen, renew), 3)
        assert.equal(count(seen, init), 0)
      }),
    )

    await t.test('nothing is sent while the wallet is not used', () =>
      withWallet({ password: () => password }, async (_, seen) => {
        await sleep(700)
        assert.deepEqual(seen, [])
      }),
    )

    await t.test('concurrent calls share one renewal', () =>
      withWallet({ password }, async (wallet, seen) => {
        await pass(1200)
        await Promise.all(Array.from({ length: 20 }, () => wallet.keys()))
        assert.equal(count(seen, renew), 1)
        assert.equal(count(seen, 'POST /v1/key/list'), 20)
      }),
    )

    await t.test(
      'an expired handle is reopened with the password function, and only once for concurrent calls',
      async () => {
        let calls = 0
        const askPassword = async (): Promise<string> => {
          calls++
          return password
        }
        await withWallet({ password: askPassword }, async (wallet, seen) => {
          assert.equal(calls, 1)
          await pass(2200)
          const addresses = await Promise.all(Array.from({ length: 20 }, () => wallet.generateKey()))
          assert.equal(new Set(addresses).size, 20)
          assert.equal(count(seen, init), 1)
          assert.equal(calls, 2)
          assert.equal((await wallet.keys()).length, 20)
        })
      },
    )

    await t.test('an expired handle of a wallet with a blank password is reopened', () =>
      withWallet({ walletPassword: '' }, async (wallet, seen) => {
        await pass(2200)
        const address = await wallet.generateKey()
        assert.equal((await wallet.exportKey(address)).length, 64)
        assert.equal(count(seen, init), 1)
      }),
    )

    await t.test('an expired handle is not reopened without a password, and the error explains this', () =>
      withWallet({ password }, async (wallet, seen) => {
        await pass(2200)
        await assert.rejects(wallet.generateKey(), {
          name: 'KmdClientError',
          code: 'wallet_locked',
          status: 401,
          operation: 'GenerateKey',
          message: 'handle expired; unlock the wallet again, or give unlock a function that returns the password',
        })
        await assert.rejects(wallet.keys(), { code: 'wallet_locked', message: /^handle does not exist; unlock/ })
        assert.equal(count(seen, init), 0)
        // One call's password reopens the handle for the others as well.
        assert.equal((await wallet.masterDerivationKey({ password })).length, 32)
        assert.deepEqual(await wallet.keys(), [])
        assert.equal(count(seen, init), 1)
      }),
    )

    await t.test('a wrong password passed to one call does not fail another', () =>
      withWallet({ password }, async (wallet) => {
        await pass(2200)
        const [wrong, right] = await Promise.allSettled([
          wallet.masterDerivationKey({ password: 'wrong' }),
          wallet.masterDerivationKey({ password }),
        ])
        assert.equal(wrong.status, 'rejected')
        assert.equal(right.status, 'fulfilled')
      }),
    )

    for (const order of ['first', 'second'] as const) {
      await t.test(`aborting the ${order} call does not abort what the other is waiting for`, async () => {
        let answer = (_: string): void => {}
        const typed = new Promise<string>((resolve) => {
          answer = resolve
        })
        let prompts = 0
        const askPassword = (): string | Promise<string> => (prompts++ === 0 ? password : typed)
        await withWallet({ password: askPassword }, async (wallet) => {
          await pass(2200)
          const controllers = [new AbortController(), new AbortController()]
          const calls = controllers.map(({ signal }) => wallet.keys({ signal }))
          const index = order === 'first' ? 0 : 1
          setTimeout(() => controllers[index]!.abort(new Error('enough')), 100)
          await assert.rejects(calls[index]!, { message: 'enough' })
          answer(password)
          assert.deepEqual(await calls[1 - index], [])
          assert.equal(prompts, 2)
        })
      })
    }
  })
}

test('handle renewal, in real time', async (t) => {
  await t.test('use keeps a handle open beyond its lifetime', async (t) => {
    // A machine that stops the test for longer than a lifetime gets a longer one.
    for (const lifetimeSecs of [2, 4, 8, 16, 32]) if (await isKeptOpen(t, lifetimeSecs)) return
    assert.fail('the machine is too slow')
  })

  await t.test('a handle is not renewed in the first half of its lifetime', async (t) => {
    const dataDir = makeDataDir()
    const daemon = await startOurs(dataDir)
    t.after(async () => {
      await daemon.stop()
      removeDataDir(dataDir)
    })
    const { address, token } = readState(dataDir)
    const proxy = await recordingProxy(address)
    t.after(() => proxy.close())
    const kmd = await Kmd.connect({ address: proxy.address, token })
    await kmd.wallets.create({ name: 'w', password })
    const wallet = await kmd.unlock({ name: 'w', password })
    proxy.seen.length = 0
    for (let use = 0; use < 3; use++) await wallet.keys()
    assert.deepEqual(proxy.seen, Array(3).fill('POST /v1/key/list'))
  })
})

/**
 * Uses a handle four times within one and a half of its lifetimes.
 * @returns false if two uses were further apart than a lifetime, which tells nothing
 */
async function isKeptOpen(t: TestContext, lifetimeSecs: number): Promise<boolean> {
  const dataDir = makeDataDir({ sessionLifetimeSecs: lifetimeSecs })
  const daemon = await startOurs(dataDir)
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const kmd = await Kmd.connect({ dataDir })
  await kmd.wallets.create({ name: 'w', password })
  let usedAt = performance.now()
  const wallet = await kmd.unlock({ name: 'w', password })
  const isInTime = (): boolean => performance.now() - usedAt < lifetimeSecs * 1000
  for (let use = 0; use < 4; use++) {
    await sleep(lifetimeSecs * 350)
    const beganAt = performance.now()
    try {
      await wallet.generateKey()
    } catch (error) {
      if (isInTime()) throw error
    }
    if (!isInTime()) return false
    usedAt = beganAt
  }
  assert.equal((await wallet.keys()).length, 4)
  return true
}
