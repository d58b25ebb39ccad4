import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { PasswordThrottle } from './PasswordThrottle.js'

/** A throttle on a clock that moves only by sleeping or by hand. */
function start(file?: string) {
  const clock = { now: 1_700_000_000_000 }
  const slept: number[] = []
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms)
    clock.now += ms
  }
  const options = { now: () => clock.now, sleep, ...(file === undefined ? {} : { file }) }
  const open = () => new PasswordThrottle(options)
  return { throttle: open(), again: open, clock, slept }
}

const wrong = (): never => {
  throw new KmdError('wrong_password')
}
const guess = (throttle: PasswordThrottle, wallet = 'w'): Promise<string> =>
  throttle.attempt(wallet, wrong).catch((error: KmdError) => error.code)
const guesses = async (throttle: PasswordThrottle, count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await guess(throttle)
}
const rejection = async (work: Promise<unknown>): Promise<number | undefined> => {
  const error = await work.then(
    () => assert.fail('was not rejected'),
    (reason: KmdError) => reason,
  )
  assert.equal(error.code, 'too_many_wrong_passwords')
  assert.equal(error.status, 429)
  return error.retryAfterSeconds
}

test('the first three wrong passwords cost nothing; after that each doubles the wait before the next', async () => {
  const { throttle, slept } = start()
  await guesses(throttle, 3)
  assert.deepEqual(slept, [])
  await guesses(throttle, 6)
  assert.deepEqual(slept, [250, 500, 1000, 2000, 4000, 8000])
})

test('a wait of more than ten seconds is rejected with the time to retry after', async () => {
  const { throttle, clock, slept } = start()
  await guesses(throttle, 9)
  assert.equal(await rejection(throttle.attempt('w', wrong)), 16)
  slept.length = 0
  clock.now += 6_500
  assert.equal(await guess(throttle), 'wrong_password')
  assert.deepEqual(slept, [9_500], 'held for the rest')
  assert.equal(await rejection(throttle.attempt('w', wrong)), 32)
})

test('no wait is longer than five minutes', async () => {
  const { throttle, clock } = start()
  for (let i = 0; i < 25; i++) {
    await guess(throttle)
    clock.now += 300_000
  }
  await guess(throttle)
  assert.equal(await rejection(throttle.attempt('w', wrong)), 300)
  clock.now += 300_000
  assert.equal(await throttle.attempt('w', () => 'right'), 'right')
})

test('a correct password waits like a wrong one, and resets the streak', async () => {
  const { throttle, slept } = start()
  await guesses(throttle, 4)
  assert.equal(await throttle.attempt('w', async () => 'right'), 'right')
  assert.deepEqual(slept, [250, 500])
  await guesses(throttle, 3)
  assert.deepEqual(slept, [250, 500])
})

test('wrong passwords between correct ones are counted', async () => {
  const { throttle, slept } = start()
  for (let i = 0; i < 30; i++) {
    await guess(throttle)
    await throttle.attempt('w', () => 'right')
  }
  assert.deepEqual(slept, [250], 'the thirty-first costs')
  await guesses(throttle, 4)
  assert.deepEqual(slept.slice(1), [250, 500, 1000])
})

test('the level decreases by one a minute', async () => {
  const { throttle, clock, slept } = start()
  for (let i = 0; i < 31; i++) {
    await guess(throttle)
    clock.now += 60_000
    await throttle.attempt('w', () => 'right')
  }
  assert.deepEqual(slept, [])
})

test('each wallet has its own count', async () => {
  const { throttle, slept } = start()
  await guesses(throttle, 4)
  slept.length = 0
  await guess(throttle, 'other')
  assert.deepEqual(slept, [])
  assert.equal(throttle.isOpen('other'), true)
  assert.equal(throttle.isOpen('w'), false)
})

test('other errors are not counted', async () => {
  const { throttle, slept } = start()
  for (let i = 0; i < 10; i++) {
    await assert.rejects(
      throttle.attempt('w', () => {
        throw new KmdError('database')
      }),
    )
  }
  assert.deepEqual(slept, [])
  assert.equal(throttle.isOpen('w'), true)
})

test('checks count when they begin: only the free ones run before the first has failed', async () => {
  const { throttle, slept } = start()
  const endings: (() => void)[] = []
  const attempts = Array.from({ length: 6 }, () =>
    throttle
      .attempt(
        'w',
        () => new Promise<never>((_resolve, reject) => endings.push(() => reject(new KmdError('wrong_password')))),
      )
      .catch((error: KmdError) => error.code),
  )
  await new Promise(setImmediate)
  assert.equal(endings.length, 3)
  for (let done = 0; done < 6; done++) {
    endings[done]!()
    await new Promise(setImmediate)
    assert.ok(endings.length <= Math.max(3, done + 2), 'one at a time from here on')
  }
  assert.deepEqual(await Promise.all(attempts), new Array(6).fill('wrong_password'))
  assert.deepEqual(slept, [250, 500, 1000])
})

test('a check is uncounted if the password is correct: forty programs may unlock together', async () => {
  const { throttle, slept } = start()
  const right = async (): Promise<string> => {
    await new Promise(setImmediate)
    return 'right'
  }
  const all = await Promise.all(Array.from({ length: 40 }, () => throttle.attempt('w', right)))
  assert.deepEqual(all, new Array(40).fill('right'))
  assert.deepEqual(slept, [])
  assert.equal(throttle.isOpen('w'), true)
})

test('guesses that would exceed the level run one at a time, although the streak is reset', async () => {
  const { throttle } = start()
  for (let i = 0; i < 29; i++) {
    await guess(throttle)
    await throttle.attempt('w', () => 'right')
  }
  let running = 0
  let most = 0
  const check = async (): Promise<never> => {
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    return wrong()
  }
  await Promise.allSettled(Array.from({ length: 3 }, () => throttle.attempt('w', check)))
  assert.equal(most, 1)
})

test('delayed passwords are checked one at a time, each after its own wait', async () => {
  const { throttle, slept } = start()
  await guesses(throttle, 3)
  let running = 0
  const check = async (): Promise<never> => {
    assert.equal(++running, 1, 'two at once')
    assert.equal(throttle.isOpen('w'), false)
    await new Promise(setImmediate)
    running--
    return wrong()
  }
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => throttle.attempt('w', check)))
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.deepEqual(slept, [250, 500, 1000, 2000])
})

test('queued attempts are rejected once the wait becomes too long', async () => {
  const { throttle } = start()
  await guesses(throttle, 7)
  const results = await Promise.all(Array.from({ length: 4 }, () => guess(throttle)))
  assert.deepEqual(results, [
    'wrong_password',
    'wrong_password',
    'too_many_wrong_passwords',
    'too_many_wrong_passwords',
  ])
})

test('64 may unlock a wallet at once; further attempts get a busy error, not a wrong-password delay', async () => {
  const { throttle, slept } = start()
  const unlocking = Array.from({ length: 65 }, () =>
    throttle.attempt('w', () => new Promise((resolve) => setImmediate(resolve, 'right'))),
  )
  const results = await Promise.all(unlocking.map((one) => one.catch(({ code }: KmdError) => code)))
  assert.deepEqual(results, [...new Array(64).fill('right'), 'derivation_busy'])
  assert.deepEqual(slept, [])
})

test('at most 61 attempts wait', async () => {
  const { throttle } = start()
  await guesses(throttle, 3)
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = throttle.attempt('w', () => held)
  await new Promise(setImmediate)
  const waiting = Array.from({ length: 61 }, () => throttle.attempt('w', () => 'right'))
  assert.equal(await rejection(throttle.attempt('w', () => 'right')), 1)
  release()
  await first
  assert.deepEqual(await Promise.all(waiting), new Array(61).fill('right'))
})

test('counts survive a restart, in a file that only its owner can read', async (t) => {
  const file = join(temporaryDirectory(t), 'failures.json')
  const { throttle, again, slept } = start(file)
  await guesses(throttle, 4)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  slept.length = 0
  await guesses(again(), 1)
  assert.deepEqual(slept, [500])
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8'))), ['w'])
})

test('the reset of a streak is saved', async (t) => {
  const { throttle, again, slept } = start(join(temporaryDirectory(t), 'failures.json'))
  await guesses(throttle, 4)
  await throttle.attempt('w', () => 'right')
  slept.length = 0
  await guesses(again(), 3)
  assert.deepEqual(slept, [])
})

const damaged = [
  '',
  'null',
  '[]',
  '{"w":5}',
  '{"w":null}',
  '{"w":{"streak":"9","level":9,"lastFailureMs":9}}',
  '{"w":{"streak":-1,"level":9,"lastFailureMs":9}}',
  '{"w":{}}',
  '{"w":',
]
for (const content of damaged) {
  test(`a file with the content ${JSON.stringify(content)} does not prevent unlocking`, async (t) => {
    const file = join(temporaryDirectory(t), 'failures.json')
    writeFileSync(file, content)
    const { throttle, slept } = start(file)
    assert.equal(throttle.isOpen('w'), true)
    await guesses(throttle, 3)
    assert.deepEqual(slept, [])
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).w.streak, 3)
  })
}

test('a clock that is set back locks a wallet no longer than its wait, in this process or the next', async (t) => {
  const { throttle, again, clock, slept } = start(join(temporaryDirectory(t), 'failures.json'))
  await guesses(throttle, 4)
  clock.now -= 86_400_000
  slept.length = 0
  await guess(throttle)
  assert.deepEqual(slept, [500])
  clock.now -= 86_400_000
  await guess(again())
  assert.deepEqual(slept, [500, 1000])
})

test('a clock that is set back does not extend a rejected wait', async () => {
  const { throttle, clock, slept } = start()
  await guesses(throttle, 9)
  clock.now -= 86_400_000
  assert.equal(await rejection(throttle.attempt('w', wrong)), 16)
  clock.now += 16_000
  slept.length = 0
  assert.equal(await throttle.attempt('w', () => 'right'), 'right')
  assert.deepEqual(slept, [])
})

test('counts that cannot be saved stay in memory, and the failure is reported', async (t) => {
  const failures: unknown[] = []
  const throttle = new PasswordThrottle({
    file: join(temporaryDirectory(t), 'gone', 'failures.json'),
    onSaveFailure: (error) => failures.push(error),
  })
  assert.equal(await guess(throttle), 'wrong_password')
  assert.equal(await throttle.attempt('w', () => 'right'), 'right')
  assert.equal(failures.length, 2)
})

test('closing rejects only waiting attempts', async () => {
  const throttle = new PasswordThrottle()
  await guesses(throttle, 4)
  const waiting = guess(throttle)
  throttle.close()
  assert.equal(await waiting, 'stopping')
  assert.equal(await throttle.attempt('other', () => 'right'), 'right')
})
