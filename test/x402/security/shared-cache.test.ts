/** A seller behind a shared cache that omits the query from its key, which is a common configuration. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { payingFetch } from '@latchkey/x402/client'
import type { GateOptions } from '@latchkey/x402/server'
import { openMarket } from '../support/market.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { cents, openServer, openStall } from '../support/stall.test.helper.js'

const browser = { Accept: 'text/html' }

type Stored = { status: number; headers: string[]; body: Buffer }

/** Whether a shared cache may store a response (RFC 9111, section 3; RFC 9213: a targeted header takes precedence). */
function isStorable(headers: IncomingHttpHeaders): boolean {
  const targeted = headers['cdn-cache-control'] ?? headers['surrogate-control']
  const directives = String(targeted ?? headers['cache-control'] ?? '')
  if (/no-store|private/i.test(directives)) return false
  return /public|max-age|s-maxage/i.test(directives) || headers.expires !== undefined
}

/** Forwards to the seller and stores what it may, keyed by the path alone. */
async function openCache(scope: { after: (work: () => unknown) => void }, seller: () => string) {
  const stored = new Map<string, Stored>()
  const { url } = await openServer(scope, async (incoming, response) => {
    const key = incoming.url!.split('?')[0]!
    let answer = stored.get(key)
    if (answer === undefined) {
      const { method, headers } = incoming
      const outgoing = request(`${seller()}${incoming.url}`, { method: method!, headers, agent: false }).end()
      const [got] = (await once(outgoing, 'response')) as [IncomingMessage]
      answer = { status: got.statusCode!, headers: got.rawHeaders, body: await buffer(got) }
      if (isStorable(got.headers)) stored.set(key, answer)
    }
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  return { url, keys: () => [...stored.keys()] }
}

const customPage: GateOptions['paywall'] = () =>
  new Response('<p>pay</p>', {
    headers: {
      'Content-Type': 'text/html',
      'Cache-Control': 'public, max-age=600',
      'CDN-Cache-Control': 'max-age=600',
      'Surrogate-Control': 'max-age=600',
      Expires: new Date(Date.now() + 600_000).toUTCString(),
    },
  })

suite('a shared cache in front of a seller', { timeout: 120_000 }, () => {
  for (const [name, paywall] of [
    ['the page', true],
    ['a page of the seller’s own', customPage],
  ] as const) {
    test(`M a buyer gets the paid response even if a person opened ${name} before`, async (t) => {
      const market = await openMarket(t)
      let sellerUrl = ''
      const cache = await openCache(t, () => sellerUrl)
      const options = { routes: cents(market, 'GET /weather'), paywall, origin: cache.url }
      ;({ url: sellerUrl } = await openStall(t, market, options))
      const page = await rawRequest(cache.url, '/weather', { headers: browser })
      assert.equal(page.status, 402)
      const files = [...page.body.matchAll(/(?:src|href)="(\?x402-page=[^"]+)"/g)].map(([, query]) => query!)
      assert.equal(files.length, paywall === true ? 2 : 0)
      for (const query of [...files, '?x402-page=params']) await (await fetch(`${cache.url}/weather${query}`)).text()
      assert.deepEqual(cache.keys(), [])
      const paid = await payingFetch(market.newBuyer())(`${cache.url}/weather`)
      assert.deepEqual([paid.status, await paid.text()], [200, 'goods'])
      assert.deepEqual(cache.keys(), [])
    })
  }
})
