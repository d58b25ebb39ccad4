import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Code, KmdError } from './errors.js'
import { Handles } from './Handles.js'
import type { UnlockedWallet } from './wallet/UnlockedWallet.js'

type FakeWallet = UnlockedWallet & { locks: number }

function fakeWallet(id = 'w'): FakeWallet {
  const wallet = { id: Buffer.from(id), locks: 0, lock: () => void wallet.locks++ }
  return wallet as unknown as FakeWallet
}

function start(t: TestContext, options: { lifetimeMs?: number; maxLifetimeMs?: number; limit?: number } = {}) {
  const clock = { now: 5000 }
  const handles = new Handles({ lifetimeMs: 60_000, now: () => clock.now, ...options })
  t.after(() => handles.close())
  return { handles, clock }
}

const fails = (code: Code, work: () => unknown): void => {
  assert.throws(work, (error) => error instanceof KmdError && error.code === code, code)
}

test('a handle is 16 and 64 hex digits joined by a dot, and unique', (t) => {
  const { handles } = start(t)
  const tokens = Array.from({ length: 50 }, () => handles.open(fakeWallet()))
  for (const token of tokens) assert.match(token, /^[0-9a-f]{16}\.[0-9a-f]{64}$/)
  assert.equal(new Set(tokens.flatMap((token) => token.split('.'))).size, 100)
  assert.equal(handles.size, 50)
})

test('a handle gives access to its own wallet', (t) => {
  const { handles } = start(t)
  const wallets = [fakeWallet('a'), fakeWallet('b')]
  const tokens = wallets.map((wallet) => handles.open(wallet))
  assert.deepEqual(
    tokens.map((token) => handles.wallet(token)),
    wallets,
  )
})

test('a handle expires, reports the time left in whole seconds, and is not extended by use', (t) => {
  const { handles, clock } = start(t)
  const token = handles.open(fakeWallet())
  assert.equal(handles.expiresSeconds(token), 60)
  clock.now += 1
  assert.equal(handles.expiresSeconds(token), 59)
  clock.now += 59_000
  handles.wallet(token)
  assert.equal(handles.expiresSeconds(token), 0)
  clock.now += 999
  assert.equal(handles.expiresSeconds(token), 0, 'the last instant')
  clock.now += 1
  fails('handle_expired', () => handles.wallet(token))
})

test('an expired handle is reported as expired once, its wallet is locked, and then it is unknown', (t) => {
  const { handles, clock } = start(t)
  const wallet = fakeWallet()
  const token = handles.open(wallet)
  clock.now += 60_001
  fails('handle_expired', () => handles.expiresSeconds(token))
  assert.equal(wallet.locks, 1)
  fails('handle_unknown', () => handles.wallet(token))
  assert.equal(handles.size, 0)
})

test('a handle with lifetime 0 expires as soon as the clock moves', (t) => {
  const { handles, clock } = start(t, { lifetimeMs: 0 })
  const token = handles.open(fakeWallet())
  clock.now += 0.001
  fails('handle_expired', () => handles.wallet(token))
})

test('renewing restores the whole lifetime, except after expiry', (t) => {
  const { handles, clock } = start(t)
  const token = handles.open(fakeWallet())
  clock.now += 59_000
  handles.renew(token)
  clock.now += 60_000
  handles.wallet(token)
  clock.now += 1
  fails('handle_expired', () => handles.renew(token))
})

test('releasing locks the wallet and ends the handle, even an expired one', (t) => {
  const { handles, clock } = start(t)
  const [kept, released, expired] = [fakeWallet(), fakeWallet(), fakeWallet()]
  const expiredToken = handles.open(expired)
  clock.now += 60_001
  handles.release(expiredToken)
  const keptToken = handles.open(kept)
  const token = handles.open(released)
  handles.release(token)
  fails('handle_unknown', () => handles.release(token))
  fails('handle_unknown', () => handles.wallet(token))
  handles.wallet(keptToken)
  assert.deepEqual([kept.locks, released.locks, expired.locks], [0, 1, 1])
})

test('all handles of one wallet can be ended', (t) => {
  const { handles } = start(t)
  const [a, alsoA, b] = [fakeWallet('a'), fakeWallet('a'), fakeWallet('b')]
  const tokens = [a, alsoA, b].map((wallet) => handles.open(wallet))
  handles.releaseWallet(Buffer.from('a'))
  assert.deepEqual([a.locks, alsoA.locks, b.locks], [1, 1, 0])
  fails('handle_unknown', () => handles.wallet(tokens[0]!))
  handles.wallet(tokens[2]!)
})

test('a sweep ends only expired handles', (t) => {
  const { handles, clock } = start(t)
  const [old, young] = [fakeWallet(), fakeWallet()]
  const oldToken = handles.open(old)
  clock.now += 30_000
  const youngToken = handles.open(young)
  clock.now += 30_000
  handles.sweep()
  handles.wallet(oldToken)
  clock.now += 1
  handles.sweep()
  assert.deepEqual([old.locks, young.locks], [1, 0])
  fails('handle_expired', () => handles.wallet(oldToken))
  fails('handle_unknown', () => handles.wallet(oldToken))
  handles.wallet(youngToken)
})

test('an expired handle is remembered for a minute, and reported only to callers that know its secret', (t) => {
  const { handles, clock } = start(t)
  const tokens = Array.from({ length: 4 }, () => handles.open(fakeWallet()))
  clock.now += 60_001
  handles.sweep()
  assert.equal(handles.size, 0)
  const [id] = tokens[0]!.split('.') as [string]
  fails('handle_wrong_secret', () => handles.wallet(`${id}.${'0'.repeat(64)}`))
  fails('handle_expired', () => handles.renew(tokens[0]!))
  handles.release(tokens[1]!)
  fails('handle_unknown', () => handles.wallet(tokens[1]!))
  clock.now += 60_000
  handles.sweep()
  fails('handle_expired', () => handles.wallet(tokens[2]!))
  clock.now += 1
  handles.sweep()
  fails('handle_unknown', () => handles.wallet(tokens[3]!))
})

test('a handle ends when it expires, even if it is not used', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { handles, clock } = start(t)
  const pass = (ms: number): void => {
    clock.now += ms
    t.mock.timers.tick(ms)
  }
  const [early, renewed, late] = [fakeWallet(), fakeWallet(), fakeWallet()]
  handles.open(early)
  const token = handles.open(renewed)
  pass(100)
  handles.open(late)
  handles.renew(token)
  pass(59_900)
  assert.equal(early.locks, 0, 'the last instant')
  pass(1)
  assert.deepEqual([early.locks, renewed.locks, late.locks], [1, 0, 0])
  pass(101)
  assert.deepEqual([early.locks, renewed.locks, late.locks], [1, 1, 1])
  assert.equal(handles.size, 0)
})

test('handles that expire one after another are swept together, at most every twenty milliseconds', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { handles, clock } = start(t)
  const sweeps = t.mock.method(handles, 'sweep')
  for (let i = 0; i < 100; i++) {
    handles.open(fakeWallet())
    clock.now += 1
    t.mock.timers.tick(1)
  }
  for (let i = 0; i < 60_100; i++) {
    clock.now += 1
    t.mock.timers.tick(1)
  }
  assert.equal(handles.size, 0)
  assert.ok(sweeps.mock.callCount() <= 8, `${sweeps.mock.callCount()} sweeps`)
})

test('a lifetime longer than the maximum timer is waited for in parts', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lifetimeMs = 30 * 86_400_000
  const { handles, clock } = start(t, { lifetimeMs })
  const wallet = fakeWallet()
  handles.open(wallet)
  for (let hours = 0; hours < 30 * 24; hours++) {
    clock.now += 3_600_000
    t.mock.timers.tick(3_600_000)
  }
  assert.equal(wallet.locks, 0)
  clock.now += 3_600_000
  t.mock.timers.tick(3_600_000)
  assert.equal(wallet.locks, 1)
})

test('renewing never exceeds the maximum lifetime', (t) => {
  const { handles, clock } = start(t, { maxLifetimeMs: 100_000 })
  const token = handles.open(fakeWallet())
  clock.now += 50_000
  handles.renew(token)
  assert.equal(handles.expiresSeconds(token), 50)
  clock.now += 49_999
  handles.renew(token)
  assert.equal(handles.expiresSeconds(token), 0)
  clock.now += 2
  fails('handle_expired', () => handles.renew(token))
})

test('a maximum lifetime below the lifetime shortens it', (t) => {
  const { handles, clock } = start(t, { maxLifetimeMs: 10_000 })
  const token = handles.open(fakeWallet())
  assert.equal(handles.expiresSeconds(token), 10)
  clock.now += 10_001
  fails('handle_expired', () => handles.wallet(token))
})

test('beyond the limit, a new handle is rejected and its wallet locked, until old ones expire', (t) => {
  const { handles, clock } = start(t, { limit: 2 })
  handles.open(fakeWallet())
  handles.open(fakeWallet())
  const rejected = fakeWallet()
  fails('too_many_handles', () => handles.open(rejected))
  assert.equal(rejected.locks, 1)
  assert.equal(handles.size, 2)
  clock.now += 60_001
  handles.wallet(handles.open(fakeWallet()))
  assert.equal(handles.size, 1)
})

test('a known id with a wrong secret is rejected, and the handle stays valid', (t) => {
  const { handles } = start(t)
  const wallet = fakeWallet()
  const token = handles.open(wallet)
  const [id, secret] = token.split('.') as [string, string]
  const flipped = `${secret.slice(0, 63)}${secret.endsWith('0') ? '1' : '0'}`
  for (const work of ['wallet', 'expiresSeconds', 'renew', 'release'] as const) {
    fails('handle_wrong_secret', () => handles[work](`${id}.${flipped}`))
    fails('handle_wrong_secret', () => handles[work](`${id}.${'0'.repeat(64)}`))
  }
  assert.equal(handles.wallet(token), wallet)
  assert.equal(wallet.locks, 0)
})

const [id, secret] = ['0123456789abcdef', 'ab'.repeat(32)]
const malformed: [token: string, code: Code][] = [
  ['', 'wrong_token_parts'],
  ['nonsense', 'wrong_token_parts'],
  [id + secret, 'wrong_token_parts'],
  ['.', 'bad_handle_id'],
  [`.${secret}`, 'bad_handle_id'],
  [`${id.slice(1)}.${secret}`, 'bad_handle_id'],
  [`${id}0.${secret}`, 'bad_handle_id'],
  [`${id.toUpperCase()}.${secret}`, 'bad_handle_id'],
  [`${id.slice(1)}g.${secret}`, 'bad_handle_id'],
  [`${id.slice(1)}\n.${secret}`, 'bad_handle_id'],
  [`${id}.`, 'bad_handle_secret'],
  [`${id}.${secret.slice(1)}`, 'bad_handle_secret'],
  [`${id}.${secret}0`, 'bad_handle_secret'],
  [`${id}.${secret.toUpperCase()}`, 'bad_handle_secret'],
  [`${id}.${secret}\n`, 'bad_handle_secret'],
  [`${id}.${secret.slice(1)}\u0130`, 'bad_handle_secret'],
  [`${id}.${secret.slice(2)}.a`, 'bad_handle_secret'],
  [`${id}.${secret}`, 'handle_unknown'],
]
for (const [token, code] of malformed) {
  test(`rejects ${JSON.stringify(token).slice(0, 32)} with ${code}`, (t) => {
    const { handles } = start(t)
    for (const work of ['wallet', 'renew', 'release'] as const) fails(code, () => handles[work](token))
  })
}

test('closing locks every wallet', (t) => {
  const { handles } = start(t)
  const wallets = [fakeWallet(), fakeWallet()]
  for (const wallet of wallets) handles.open(wallet)
  handles.close()
  assert.deepEqual(
    wallets.map(({ locks }) => locks),
    [1, 1],
  )
  assert.equal(handles.size, 0)
})

test('shorter lifetimes apply to open handles, and longer ones do not extend them', (t) => {
  const { handles, clock } = start(t, { maxLifetimeMs: 100_000 })
  const token = handles.open(fakeWallet())
  handles.configure({ lifetimeMs: 10_000, maxLifetimeMs: 15_000 })
  assert.equal(handles.expiresSeconds(token), 10)
  clock.now += 9_000
  handles.renew(token)
  assert.equal(handles.expiresSeconds(token), 6)
  handles.configure({ lifetimeMs: 600_000 })
  assert.equal(handles.expiresSeconds(token), 6)
  handles.renew(token)
  assert.equal(handles.expiresSeconds(token), 6)
  assert.equal(handles.expiresSeconds(handles.open(fakeWallet())), 600)
  clock.now += 6_001
  fails('handle_expired', () => handles.wallet(token))
})
