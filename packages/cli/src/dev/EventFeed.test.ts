import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { EventFeed } from './EventFeed.js'
import { readEvents } from './readEvents.js'

async function serve(t: TestContext): Promise<{ feed: EventFeed; url: string }> {
  const feed = new EventFeed()
  const server = createServer((_, response) => {
    if (!feed.add(response)) response.writeHead(503).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    feed.close()
    server.closeAllConnections()
    server.close()
  })
  return { feed, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events` }
}

const event = { id: 'A', timeMs: 1, route: 'GET /x', method: 'GET', path: '/x' }

test('a listener gets the events of the hooks as they happen, and the hooks are called', {
  timeout: 30_000,
}, async (t) => {
  const { feed, url } = await serve(t)
  const called: string[] = []
  const hooks = feed.hooks({ onSettled: ({ id }) => called.push(id) })
  hooks.onPaymentRequired?.({ ...event, prices: ['before'] })
  const open = (): void => {
    hooks.onPaymentRequired?.({ ...event, prices: ['$0.01\n\ndata: {}'] })
    hooks.onSettled?.({ ...event, payment: { amount: 1n } as never })
    feed.close()
  }
  const seen: unknown[] = []
  for await (const one of readEvents(url, open)) seen.push(one)
  assert.deepEqual(seen, [
    { type: 'required', ...event, prices: ['$0.01\n\ndata: {}'] },
    { type: 'settled', ...event, payment: { amount: '1' } },
  ])
  assert.deepEqual(called, ['A'])
})

test('the number of listeners is bounded, and another server is no event stream', { timeout: 30_000 }, async (t) => {
  const { url } = await serve(t)
  const listeners = await Promise.all([...Array(16).keys()].map(() => fetch(url)))
  assert.ok(listeners.every(({ ok }) => ok))
  const one = readEvents(url, () => {})
  await assert.rejects(one.next(), { code: 'server_unreachable', message: /is not the event stream/ })
  for (const { body } of listeners) await body?.cancel()
  const none = readEvents('http://127.0.0.1:9/events', () => {})
  await assert.rejects(none.next(), { code: 'server_unreachable', message: /no dev stack responds/ })
})
