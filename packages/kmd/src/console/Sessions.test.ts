import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idleMs, limit, longestMs, Sessions } from './Sessions.js'

function withClock(): { sessions: Sessions; advance: (ms: number) => void } {
  let nowMs = 5
  const sessions = new Sessions({ now: () => nowMs })
  return {
    sessions,
    advance: (ms) => {
      nowMs += ms
    },
  }
}

test('a session is found only by its token', () => {
  const { sessions } = withClock()
  const token = sessions.open()
  assert.match(token, /^[A-Za-z0-9_-]{43}$/)
  assert.ok(sessions.use(token))
  for (const other of [undefined, '', token.slice(1), `${token}x`, 'A'.repeat(43), sessions.use(token)!.fingerprint]) {
    assert.equal(sessions.use(other), undefined)
  }
})

test('each use extends a session by half an hour', () => {
  const { sessions, advance } = withClock()
  const token = sessions.open()
  for (let i = 0; i < 3; i++) {
    advance(idleMs - 1)
    assert.ok(sessions.use(token))
  }
  advance(idleMs)
  assert.equal(sessions.use(token), undefined)
  advance(-idleMs)
  assert.equal(sessions.use(token), undefined, 'what has ended stays so')
})

test('no use extends a session beyond twelve hours', () => {
  const { sessions, advance } = withClock()
  const token = sessions.open()
  const step = idleMs / 2
  for (let ms = step; ms < longestMs; ms += step) {
    advance(step)
    assert.ok(sessions.use(token))
  }
  advance(step - 1)
  assert.ok(sessions.use(token))
  advance(1)
  assert.equal(sessions.use(token), undefined)
})

test('beyond the limit, the least recently used session ends', () => {
  const { sessions, advance } = withClock()
  const [first, second, ...others] = Array.from({ length: limit }, () => sessions.open())
  advance(1)
  assert.ok(sessions.use(first))
  const added = sessions.open()
  assert.equal(sessions.use(second), undefined)
  for (const token of [first, ...others, added]) assert.ok(sessions.use(token))
})

test('closing ends one session, clearing ends all', () => {
  const { sessions } = withClock()
  const [one, two, three] = [sessions.open(), sessions.open(), sessions.open()]
  sessions.close(sessions.use(one)!)
  assert.equal(sessions.use(one), undefined)
  assert.ok(sessions.use(two) && sessions.use(three))
  sessions.clear()
  assert.ok(!sessions.use(two) && !sessions.use(three))
})

test('a page that waits automatically keeps no session alive', () => {
  const { sessions, advance } = withClock()
  const token = sessions.open()
  for (let waited = 0; waited < idleMs; waited += 30_000) {
    assert.ok(sessions.use(token, { isWaiting: true }))
    advance(30_000)
  }
  assert.equal(sessions.use(token, { isWaiting: true }), undefined)
})
