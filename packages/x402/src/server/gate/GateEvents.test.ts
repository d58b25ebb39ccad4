import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { Notifications, type NotificationsOptions } from './GateEvents.js'
import type { GateHooks, PaymentEvent, RefusedEvent } from './GateOptions.js'

// Waiting for the next call does not keep a process alive.
const alive = setInterval(() => {}, 1_000)
after(() => clearInterval(alive))

function event(id: string): RefusedEvent & PaymentEvent {
  const request = { route: 'GET /a', method: 'GET', path: '/a', timeMs: 0 }
  return { ...request, id, code: 'bad', message: 'bad', payment: undefined as never }
}

function open(hooks: GateHooks, options: Partial<NotificationsOptions> = {}) {
  const errors: Error[] = []
  const onError = (error: unknown): void => void errors.push(error as Error)
  return { errors, notifications: new Notifications({ hooks, onError, firstWaitMs: 1, ...options }) }
}

test('calls a hook after its caller has returned, and before close resolves', async () => {
  const seen: string[] = []
  const { notifications } = open({ onSettled: ({ id }) => void seen.push(id) })
  notifications.emit('onSettled', event('1'))
  await Promise.resolve()
  assert.deepEqual(seen, [])
  await notifications.close(5_000)
  assert.deepEqual(seen, ['1'])
})

test('calls a hook again until it succeeds, and keeps the order of one payment meanwhile', async () => {
  const seen: string[] = []
  let failures = 3
  const { notifications, errors } = open({
    onVerified: async ({ id }) => {
      if (id === '1' && failures-- > 0) throw new Error('away')
      seen.push(`verified ${id}`)
    },
    onSettled: ({ id }) => void seen.push(`settled ${id}`),
  })
  notifications.emit('onVerified', event('1'))
  const done = new Promise<void>((resolve) => notifications.emit('onSettled', event('1'), { onDelivered: resolve }))
  notifications.emit('onSettled', event('2'))
  await done
  assert.deepEqual(seen, ['settled 2', 'verified 1', 'settled 1'])
  assert.deepEqual(errors, [])
})

test('reports a persistent error once, after the last call', async () => {
  let calls = 0
  const reported = new Promise<Error>((resolve) => {
    const hooks: GateHooks = {
      onRefused: () => {
        calls++
        throw new Error('no\u001b[31m')
      },
    }
    const onError = (error: unknown): void => resolve(error as Error)
    new Notifications({ hooks, onError, firstWaitMs: 1, maxTries: 3 }).emit('onRefused', event('x'))
  })
  const error = await reported
  assert.equal(calls, 3)
  assert.equal((error as { code?: string }).code, 'hook_failed')
  assert.match(error.message, /onRefused failed 3 times for x: no/)
})

test('calls a hook that never returns again after its time, and delays no other payment', async () => {
  const seen: string[] = []
  let calls = 0
  const { notifications } = open(
    {
      onSettled: ({ id }) => {
        if (id === 'slow' && calls++ === 0) return new Promise(() => {})
        seen.push(id)
        return undefined
      },
    },
    { timeoutMs: 20 },
  )
  const done = new Promise<void>((resolve) => notifications.emit('onSettled', event('slow'), { onDelivered: resolve }))
  notifications.emit('onSettled', event('quick'))
  await done
  assert.deepEqual(seen, ['quick', 'slow'])
})

test('limits a flood of refusals, reports it once, and leaves room for payments', async () => {
  const seen: string[] = []
  const { notifications, errors } = open(
    { onRefused: ({ id }) => void seen.push(id), onSettled: ({ id }) => void seen.push(id) },
    { maxQueued: 10 },
  )
  for (let count = 0; count < 100; count++) notifications.emit('onRefused', event(`r${count}`))
  notifications.emit('onSettled', event('paid'))
  await notifications.close(5_000)
  assert.deepEqual(seen, ['paid', 'r0', 'r1', 'r2', 'r3', 'r4'])
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['hooks are too slow for the number of events: dropped 1 event, the last one for onRefused'],
  )
})

test('hooks that hang with prices and refusals delay no payment', { timeout: 60_000 }, async () => {
  let hanging = 0
  const onRefused = (): Promise<void> => {
    hanging++
    return new Promise(() => {})
  }
  const hooks: GateHooks = { onRefused, onSettled: () => {}, onVerified: () => {} }
  const { notifications } = open(hooks, { timeoutMs: 3_600_000 })
  for (let count = 0; count < 100; count++) notifications.emit('onRefused', event(`r${count}`))
  while (hanging === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  notifications.emit('onVerified', event('paid'))
  await new Promise<void>((resolve) => notifications.emit('onSettled', event('paid'), { onDelivered: resolve }))
  await notifications.close(1)
})

test('close tries waiting events once more, stops in time, and reports the rest', async () => {
  let calls = 0
  const { notifications, errors } = open(
    {
      onSettled: () => {
        if (calls++ === 0) throw new Error('away')
        return new Promise(() => {})
      },
    },
    { firstWaitMs: 3_600_000 },
  )
  notifications.emit('onSettled', event('1'))
  while (calls === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  await new Promise((resolve) => setImmediate(resolve))
  await notifications.close(10)
  assert.equal(calls, 2)
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['the gate was closed before its hooks received 1 event'],
  )
})

test('refuses a hook that is not a function', () => {
  assert.throws(() => open({ onSettled: 'print' as never }), { code: 'invalid_option', message: /onSettled/ })
})

test('survives a reporter that throws', async () => {
  const hooks: GateHooks = {
    onSettled: () => {
      throw new Error('a')
    },
  }
  const onError = (): never => {
    throw new Error('b')
  }
  const notifications = new Notifications({ hooks, onError, maxTries: 1 })
  notifications.emit('onSettled', event('1'))
  await notifications.close(5_000)
})
