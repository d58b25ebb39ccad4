import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultLifetimeMs as lifetimeMs, limit, Tickets } from './Tickets.js'

function withClock(): { tickets: Tickets; advance: (ms: number) => void } {
  let nowMs = 5
  const tickets = new Tickets({ now: () => nowMs })
  return {
    tickets,
    advance: (ms) => {
      nowMs += ms
    },
  }
}

test('a ticket is 32 random bytes in URL-safe base64', () => {
  const { tickets } = withClock()
  const made = [tickets.create(), tickets.create()]
  for (const ticket of made) assert.match(ticket, /^[A-Za-z0-9_-]{43}$/)
  assert.notEqual(made[0], made[1])
})

test('a ticket works once', () => {
  const { tickets } = withClock()
  const ticket = tickets.create()
  assert.equal(tickets.redeem(ticket), true)
  assert.equal(tickets.redeem(ticket), false)
})

test('a ticket expires after a minute', () => {
  const { tickets, advance } = withClock()
  const [early, late] = [tickets.create(), tickets.create()]
  advance(lifetimeMs - 1)
  assert.equal(tickets.redeem(early), true)
  advance(1)
  assert.equal(tickets.redeem(late), false)
  advance(-lifetimeMs)
  assert.equal(tickets.redeem(late), false)
})

test('an unknown ticket is rejected', () => {
  const { tickets } = withClock()
  const ticket = tickets.create()
  for (const other of ['', 'x', `${ticket}=`, ticket.slice(1), 'A'.repeat(43), `${ticket.slice(0, 42)}\u0100`]) {
    assert.equal(tickets.redeem(other), false, other)
  }
  assert.equal(tickets.redeem(ticket), true)
})

test('beyond the limit, the oldest tickets are invalid', () => {
  const { tickets } = withClock()
  const made = Array.from({ length: limit + 2 }, () => tickets.create())
  assert.deepEqual(
    made.map((ticket) => tickets.redeem(ticket)),
    made.map((_, index) => index >= 2),
  )
})

test('clearing invalidates every ticket', () => {
  const { tickets } = withClock()
  const ticket = tickets.create()
  tickets.clear()
  assert.equal(tickets.redeem(ticket), false)
})
