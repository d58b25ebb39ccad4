import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Span } from '../style.js'
import { styled } from '../style.js'
import { EventPrinter, type StackEvent } from './EventPrinter.js'

const now = (): Date => new Date(2024, 0, 2, 12, 30, 5)
const event = (text: string): StackEvent => ({ part: 'seller', kind: 'done', text })

function printer(): { events: EventPrinter; lines: string[] } {
  const lines: string[] = []
  const print = (spans: readonly Span[]): void => void lines.push(styled(spans, {}, {}))
  return { events: new EventPrinter({ print, now }), lines }
}

test('an event is one line, once the printer is open', () => {
  const { events, lines } = printer()
  events.onEvent(event('before'))
  events.open()
  events.onEvent(event('402 sent'))
  events.close()
  events.onEvent(event('after'))
  assert.deepEqual(lines, ['12:30:05  seller       402 sent'])
})

test('untrusted text is printable and bounded', () => {
  const { events, lines } = printer()
  events.open()
  events.onEvent(event(`\x1b[2J\nnew line ${'x'.repeat(10_000)}`))
  events.close()
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /^12:30:05 {2}seller {7}\?\[2J\?new line x+…$/)
  assert.ok(lines[0]!.length < 200)
})

test('excess events are counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { events, lines } = printer()
  events.open()
  for (let index = 0; index < 1_000; index++) events.onEvent(event(`event ${index}`))
  assert.equal(lines.length, 20)
  t.mock.timers.tick(1_000)
  assert.equal(lines.at(-1), '12:30:05               980 more in this second')
  events.onEvent(event('later'))
  assert.equal(lines.at(-1), '12:30:05  seller       later')
  events.close()
})
