/**
 * The price function and the handler see the same request target in every framework, or the request is refused.
 * `LATCHKEY_FUZZ` sets how many targets are tried (1,300 by default, at least 500); each goes to one shop.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { openMarket } from '../support/market.test.helper.js'
import { askOf, keys, type Reading, readRequest, targetShops } from './support/targetShops.test.helper.js'

const market = await openMarket({ after })
const count = Math.max(500, Number(process.env['LATCHKEY_FUZZ'] ?? 1_300))
const seed = 402

const escaped = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const letter = fc.constantFrom('a', 'B', '7', '-', '_', '.', '~', '!', "'", '(', '*', ',', ':', '@', '$')
const odd = fc.constantFrom(
  ...['#', '\\', ';', '|', '^', '`', '{', '}', '"', '<', '>', '[', ']', '\u00e9', '\u00ff', '?', '&', '=', '/', '//'],
  ...[
    '%',
    '%2',
    '%zz',
    '%ff',
    '%c3',
    '%c3%a9',
    '%C3%A9',
    '%E2%82%AC',
    '%ed%a0%80',
    '%ef%bb%bf',
    '%ef%bf%bd',
    '%f0%9f%98%80',
  ],
  ...[
    '%00',
    '%0a',
    '%0d%0a',
    '%09',
    '%20',
    '+',
    '%2b',
    '%7f',
    '%23',
    '%26',
    '%3d',
    '%3f',
    '%25',
    '%2525',
    '%2f',
    '%5c',
    '%3b',
  ],
  ...['.', '..', '/../', '/./', '%2e', '%2e%2e', '/%2e%2e/', '/..', '%u0041', '&amp;', '%5b%5d'],
)
const text = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ weight: 6, arbitrary: letter }, { weight: 1, arbitrary: odd }), { maxLength })
    .map((pieces) => pieces.join(''))
const spelled = (word: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(word) },
    fc.constantFrom(
      word.toUpperCase(),
      escaped(word),
      escaped(word[0]!) + word.slice(1),
      `${word}[]`,
      `${word}[0]`,
      `x[${word}]`,
    ),
    fc.constantFrom(`${word}+`, `${word}%20`, `+${word}`, `${word}.x`, `${word}%5B%5D`, `${word}%00`),
  )
const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('quality', 'x', 'size').chain(spelled) },
  fc.constantFrom('', '__proto__', 'constructor', 'toString', 'length', '_method', 'a.b', 'x402'),
)
const parameter = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(name, text(5)).map(([key, value]) => `${key}=${value}`) },
  name,
  fc.constantFrom('=', '==', 'a=b=c', 'quality=best&', '&', 'x=1#', '#', ';quality=best', '?quality=best'),
)
const query = fc
  .tuple(
    fc.constantFrom('?', '?', '?', '?', '??', '#', ';', '?#', '/?', '%3f'),
    fc.array(parameter, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('&', '&', '&', '&', ';', '&&', '#', '%26', '&#'),
  )
  .map(([start, parameters, separator]) => `${start}${parameters.join(separator)}`)
const path = fc.oneof(
  { weight: 6, arbitrary: fc.constant('/w') },
  { weight: 6, arbitrary: text(6).map((id) => `/items/${id}`) },
  fc.constantFrom(
    '/W',
    '/w/',
    '//w',
    '/%77',
    '/./w',
    '/x/../w',
    '\\w',
    '/w;x',
    '/w%3fquality=best',
    '/Items/7',
    '/items/7/',
    '/w%00',
  ),
)
const absolute = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  fc.constantFrom(
    'http://HOST',
    'HTTP://HOST',
    'https://HOST',
    'http://other.example',
    'http://u@HOST',
    'http://HOST:80',
    '//other.example',
  ),
)
const target = fc.tuple(absolute, path, fc.oneof(query, fc.constant('')))

/** Encodes an apostrophe as a URL does in a query. */
function asUrlText(text: string): string {
  const [start = '', ...rest] = text.split('?')
  return rest.length === 0 ? start : `${start}?${rest.join('?').replaceAll("'", '%27')}`
}

function comparable({ target, parameters, id }: Reading): object {
  const byName = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1))
  return { target: asUrlText(target).replace(/\?$/, ''), parameters: byName, id }
}

const names = Object.keys(targetShops)

for (const [index, name] of names.entries()) {
  test(`${name}: the price function and the handler read the same target, or it is refused`, async (t) => {
    const { open, prefix, isHttp2 } = targetShops[name]!
    const [priced, handled]: [Reading[], Reading[]] = [[], []]
    let unpaid = 0
    const price = (request: Request): string => {
      priced.push(readRequest(withoutPrefix(request, prefix)))
      return '$0.01'
    }
    const accepts = { network: market.chain.caip2, price, payTo: market.seller }
    const routes = Object.fromEntries(keys.map((key) => [key, { accepts }]))
    const gated = await open(await market.gate({ routes }), () => unpaid++)
    const plain = await open(undefined, (reading) => handled.push(withoutPrefixOf(reading, prefix)))
    const [toGated, toPlain] = [askOf(gated.url, isHttp2), askOf(plain.url, isHttp2)]
    t.after(async () => {
      toGated.close()
      toPlain.close()
      await Promise.all([gated.close(), plain.close()])
    })
    const total = { compared: 0, refused: 0 }
    for (const [start, path, query] of fc.sample(target, {
      numRuns: Math.ceil(count / names.length),
      seed: seed + index,
    })) {
      priced.length = 0
      handled.length = 0
      const rest = `${prefix}${path}${query}`
      const textFor = (url: string): string => `${start.replace('HOST', new URL(url).host)}${rest}`
      const [answer] = await Promise.all([toGated.ask(textFor(gated.url)), toPlain.ask(textFor(plain.url))])
      const shown = JSON.stringify(`${start}${rest}`)
      assert.equal(unpaid, 0, `${shown} was served unpaid`)
      const [seen] = handled
      // Targets without a handler tell nothing.
      if (seen === undefined) continue
      if (answer.status === 402) {
        assert.deepEqual(comparable(priced[0]!), comparable(seen), shown)
        total.compared++
      } else {
        assert.equal(answer.status, 400, shown)
        total.refused++
      }
    }
    t.diagnostic(`${total.compared} read alike, ${total.refused} refused`)
    assert.ok(total.compared > 2 && total.refused > 2, JSON.stringify(total))
  })
}

function withoutPrefix(request: Request, prefix: string): Request {
  const { origin } = new URL(request.url)
  return new Request(request.url.replace(`${origin}${prefix}`, origin))
}

function withoutPrefixOf(reading: Reading, prefix: string): Reading {
  return {
    ...reading,
    target: reading.target.startsWith(prefix) ? reading.target.slice(prefix.length) : reading.target,
  }
}
