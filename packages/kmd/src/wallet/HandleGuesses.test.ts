import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KmdError } from '../errors.js'
import { type Handle, HandleGuesses } from './PasswordThrottle.js'

/** Counts on a clock that moves only by sleeping or by hand. */
function start() {
  const clock = { nowMs: 1_700_000_000_000 }
  const slept: number[] = []
  let close = (): void => {}
  const closed = new Promise<never>((_resolve, reject) => {
    close = () => reject(new KmdError('stopping'))
  })
  closed.catch(() => {})
  const guesses = new HandleGuesses({
    now: () => clock.nowMs,
    sleep: async (ms) => {
      slept.push(ms)
      clock.nowMs += ms
    },
    closed,
  })
  const outcome = async (handle: Handle, check: () => void): Promise<string> => {
    try {
      await guesses.attempt(handle, check)
      return 'right'
    } catch (error) {
      return (error as KmdError).code
    }
  }
  const wrong = (handle: Handle): Promise<string> =>
    outcome(handle, () => {
      throw new KmdError('wrong_password')
    })
  const right = (handle: Handle): Promise<string> => outcome(handle, () => {})
  return { guesses, clock, slept, wrong, right, close }
}

const newHandle = (key = 'w'): Handle => ({ key })

test('a correct password on a handle without failures is checked at once, without a promise', () => {
  const { guesses } = start()
  assert.equal(
    guesses.attempt(newHandle(), () => {}),
    undefined,
  )
})

test('each handle has three free guesses, and then waits that double', async () => {
  const { wrong, right, slept } = start()
  const [one, two] = [newHandle(), newHandle()]
  for (let i = 0; i < 5; i++) assert.equal(await wrong(one), 'wrong_password')
  assert.deepEqual(slept, [250, 500])
  for (let i = 0; i < 3; i++) await wrong(two)
  assert.deepEqual(slept, [250, 500])
  assert.equal(await right(one), 'right')
  assert.deepEqual(slept, [250, 500, 1000])
  assert.equal(await right(one), 'right')
  assert.equal(slept.length, 3, 'the correct password ended the streak')
})

test('a wait of more than ten seconds is rejected', async () => {
  const { wrong, right } = start()
  const handle = newHandle()
  for (let i = 0; i < 9; i++) await wrong(handle)
  assert.equal(await right(handle), 'too_many_wrong_passwords')
})

test('one handle that fails constantly delays no other, not even one that failed once', async () => {
  const { wrong, right, slept, clock } = start()
  const [thief, owner] = [newHandle(), newHandle()]
  for (let i = 0; i < 60; i++) {
    await wrong(thief)
    clock.nowMs += 300_000
  }
  slept.length = 0
  assert.equal(await wrong(owner), 'wrong_password')
  assert.equal(await right(owner), 'right')
  assert.deepEqual(slept, [])
})

test('guesses over many handles of one wallet are slowed down together', async () => {
  const { wrong, right, slept, clock } = start()
  const handles = Array.from({ length: 40 }, () => newHandle())
  for (const handle of handles) assert.equal(await wrong(handle), 'wrong_password')
  assert.deepEqual(slept, [], 'the first guess on each is free')
  assert.equal(await wrong(handles[0]!), 'too_many_wrong_passwords')
  assert.equal(await wrong(newHandle('other')), 'wrong_password')
  // Handles whose last password was correct do not wait.
  assert.equal(await right(newHandle()), 'right')
  clock.nowMs += 300_000
  assert.equal(await right(handles[1]!), 'right')
  assert.equal(await right(handles[1]!), 'right')
})

test('the wait for others ends as their failures fade', async () => {
  const { wrong, slept, clock } = start()
  for (let i = 0; i < 40; i++) await wrong(newHandle())
  const handle = newHandle()
  await wrong(handle)
  clock.nowMs += 60 * 60_000
  assert.equal(await wrong(handle), 'wrong_password')
  assert.equal(await wrong(handle), 'wrong_password')
  assert.deepEqual(slept, [])
})

test('other errors are not counted', async () => {
  const { guesses, wrong, slept } = start()
  const handle = newHandle()
  const gone = (): never => {
    throw new KmdError('handle_unknown')
  }
  for (let i = 0; i < 9; i++) assert.throws(() => void guesses.attempt(handle, gone))
  await wrong(handle)
  assert.deepEqual(slept, [])
})
