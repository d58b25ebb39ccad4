import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CommandError, UsageError } from '../errors.js'
import { readSettings } from './settings.js'

const payTo = 'A7NMWS3NT3IUDMLVO26ULGXGIIOUQ3ND2TXSER6EBGRZNOBOUIQXHIBGDE'
const directory = mkdtempSync(join(tmpdir(), 'latchkey-gateway-'))
const path = join(directory, 'gateway.json')
after(() => rmSync(directory, { recursive: true }))

/** A file with every member. */
const whole = {
  upstream: 'http://127.0.0.1:8080',
  payTo,
  facilitator: 'https://facilitator.example',
  routes: {
    'GET /a': {
      price: { upTo: '$0.50', whenUnset: 'maximum', stream: true },
      payTo,
      maxTimeoutSeconds: 60,
      paymentFlow: 'authorization',
      description: 'a',
      mimeType: 'text/plain',
      input: {
        query: { type: 'object' },
        path: { type: 'object' },
        body: { type: 'object' },
        bodyType: 'json',
        example: { query: { a: 1 }, body: { b: 1 } },
      },
      output: { schema: { type: 'object' }, example: 1 },
      serviceName: 's',
      tags: ['t'],
      iconUrl: 'https://a.example/i.png',
      settleFirstAbove: '$1',
      otherMethods: 'free',
    },
    'POST /a': {
      price: { asset: '31566704', amount: '10', extra: { a: 1 } },
      passes: { minutes: 1, requests: 2, scope: 'path' },
    },
    'PUT /a': { price: 0.5, passes: false },
    '/b/*': '$0.05',
  },
  free: ['GET /health'],
  headers: { A: 'text', B: { env: 'KEY', prefix: 'Bearer ' } },
  passHeaders: ['X-Acme-*'],
  methodInBody: 'forward',
  timeoutSeconds: 30,
  perPayer: { requests: 60, seconds: 60 },
  service: { serviceName: 's', tags: ['t'], iconUrl: 'https://a.example/i.png' },
  discovery: { title: 't', version: '1', description: 'd', guidance: 'g', contactEmail: 'a@b.example' },
  networkIds: 'canonical',
  origin: 'https://shop.example',
  cors: ['https://a.example'],
  passes: { minutes: 1, requests: 2, scope: 'route', secret: ['x'.repeat(32)] },
  tls: { cert: 'cert.pem', key: 'key.pem' },
}

type Place = readonly (string | number)[]

function read(content: string, options: object = {}): unknown {
  writeFileSync(path, content)
  return readSettings({ config: path, ...options }, { KEY: 'secret' })
}

/** The message about a file; undefined if it is accepted. */
function problemOf(content: unknown, options: object = {}): string | undefined {
  try {
    read(typeof content === 'string' ? content : JSON.stringify(content), options)
    return undefined
  } catch (error) {
    assert.ok(error instanceof CommandError || error instanceof UsageError, String(error))
    return error.message
  }
}

function changed(place: Place, value: unknown): unknown {
  const copy = structuredClone(whole) as never
  const parent = place.slice(0, -1).reduce<never>((object, name) => object[name], copy) as { [name: string]: unknown }
  parent[place.at(-1)!] = value
  return copy
}

/** The path of a member as messages write it. */
function written(place: Place): string {
  return place
    .map((name, index) => {
      if (typeof name === 'number') return `[${name}]`
      if (!/^\w+$/.test(name)) return `[${JSON.stringify(name)}]`
      return index === 0 ? name : `.${name}`
    })
    .join('')
}

function placesIn(value: unknown, place: Place = []): Place[] {
  if (Array.isArray(value))
    return value.flatMap((one, index) => [[...place, index], ...placesIn(one, [...place, index])])
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => [[...place, name], ...placesIn(one, [...place, name])])
}

/** Objects whose members the seller chooses. */
const isFreeForm = (place: Place): boolean => /\.(query|path|body|schema|extra|example)\b/.test(written(place))
const places = placesIn(whole).filter((place) => !isFreeForm(place.slice(0, -1)))
const valueAt = (place: Place): unknown => place.reduce<unknown>((value, name) => (value as never)[name], whole)

test('a file with every member is accepted', () => {
  assert.equal(problemOf(whole), undefined)
  const { timeoutMs, headers } = read(JSON.stringify(whole)) as { timeoutMs: number; headers: object }
  assert.deepEqual([timeoutMs, headers], [30_000, { A: 'text', B: 'Bearer secret' }])
})

test('every member of another type is refused, with its path', () => {
  const accepted: string[] = []
  for (const place of places) {
    for (const value of [null, -5, 0, 1e12, '', 'x'.repeat(100_000), true, [], [[]], { unknown: 1 }, [null]]) {
      const isAllowed =
        // Any value is an example.
        place.at(-1) === 'example' ? place.includes('output') : isExpected(written(place), value)
      const problem = problemOf(changed(place, value))
      const name = written(place)
      if (isAllowed) assert.equal(problem, undefined, `${name} ${JSON.stringify(value)}`)
      else if (problem === undefined) accepted.push(`${name} ${JSON.stringify(value).slice(0, 40)}`)
      else assert.ok(problem.includes(name), `${name} ${JSON.stringify(value).slice(0, 40)}: ${problem.slice(0, 200)}`)
    }
  }
  assert.deepEqual(accepted, [])
})

/** Values of the list above that are right for a member. */
function isExpected(name: string, value: unknown): boolean {
  const text = JSON.stringify(value)
  // The gate refuses a route that is not a path.
  if (name === 'routes') return text === '{"unknown":1}'
  if (/^(free|passHeaders|cors|service\.tags)$/.test(name) && text === '[]') return true
  if (/tags$/.test(name) && text === '[]') return true
  if (/(\.stream|^cors)$/.test(name) && value === true) return true
  if (/(query|path|body|schema|extra)$/.test(name)) return text === '{"unknown":1}'
  if (/^routes\["[^"]*"\](\.price)?$/.test(name) && value === 1e12) return true
  if (/upTo$|settleFirstAbove$/.test(name) && value === 1e12) return true
  if (/^headers\.B\.prefix$|^routes.*(description|mimeType)$/.test(name) && value === '') return true
  return false
}

test('an unknown sibling is refused in every object', () => {
  const objects = [[], ...places].filter((place) => {
    const value = valueAt(place)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !isFreeForm(place)
  })
  const names = objects.map(written)
  for (const name of ['perPayer', 'service', 'discovery', 'passes', 'tls', 'routes["GET /a"].price']) {
    assert.ok(names.includes(name), name)
  }
  for (const place of objects) {
    const name = written(place)
    // Members of these are routes and headers.
    if (name === 'routes' || name === 'headers') continue
    const problem = problemOf(changed([...place, 'minuts'], 1))
    assert.match(problem ?? 'accepted', /unknown member minuts/, name)
    assert.ok(problem?.includes(name), `${name}: ${problem}`)
  }
  assert.match(problemOf('{"__proto__":{}}') ?? '', /unknown member __proto__/)
})

test('a member that is given twice is refused, and so is a route in two places', () => {
  const one = `"upstream":"http://x","facilitator":"http://y","payTo":"${payTo}"`
  const wrong: [content: string, message: RegExp, options?: object][] = [
    [`{${one},"routes":{"GET /a":"$1","GET /a":"$2"}}`, /routes\["GET \/a"\] is given twice/],
    [`{${one},"routes":{"GET /a":"$1","\\u0047ET /a":"$2"}}`, /routes\["GET \/a"\] is given twice/],
    [`{${one},"upstream":"http://z","routes":{"/a":"$1"}}`, /upstream is given twice/],
    [`{${one},"routes":{"/a":{"price":"$1","price":"$2"}}}`, /routes\["\/a"\]\.price is given twice/],
    [`{${one},"routes":{"/a":"$1"},"perPayer":{"requests":1,"requests":2}}`, /perPayer\.requests is given twice/],
    [`{${one},"routes":{"GET /a":"$1"}}`, /--price .*GET \/a.* is given twice/, { price: ['GET /a=$2'] }],
    [`{${one},"routes":{"GET /a":"$1"}}`, /--price .*get {2}\/a.* is given twice/, { price: ['get  /a=$2'] }],
    [`{${one},"routes":{"/b":"$1"}}`, /--price .*\/a.* is given twice/, { price: ['/a=$2', '/a=$1'] }],
    [`{${one},"routes":{"/b":"$1"},"free":["/a","/a"]}`, /free\[1\].* is given twice/],
    [`{${one},"routes":{"/b":"$1"},"free":["/a"]}`, /--free .*\/a.* is given twice/, { free: ['/a'] }],
    [`{${one},"routes":{"GET /b":"$1"},"free":["GET /b"]}`, /free\[0\].* is priced/],
    [`{${one},"routes":{"GET /b":"$1"}}`, /--free .* is priced/, { free: ['get /b'] }],
  ]
  for (const [content, message, options] of wrong)
    assert.match(problemOf(content, options) ?? 'accepted', message, content)
})

test('numbers have a range', () => {
  const wrong: [Place, unknown][] = [
    ...[-5, 0, '60', 1e12, 0.0001, 86_401, Number.NaN].map((value): [Place, unknown] => [['timeoutSeconds'], value]),
    ...[0, 1.5, 1e12, '1'].map((value): [Place, unknown] => [['perPayer', 'requests'], value]),
    ...[0, 0.5, 86_401].map((value): [Place, unknown] => [['perPayer', 'seconds'], value]),
    ...[0, 2_401, 1.5].map((value): [Place, unknown] => [['routes', 'GET /a', 'maxTimeoutSeconds'], value]),
    ...[0, 1e9].map((value): [Place, unknown] => [['routes', 'POST /a', 'passes', 'minutes'], value]),
    ...[1, 1.5, 1e10].map((value): [Place, unknown] => [['passes', 'requests'], value]),
    ...['0', '99999999999999999999', '-1', '1.5', '', 10].map((value): [Place, unknown] => [
      ['routes', 'POST /a', 'price', 'amount'],
      value,
    ]),
  ]
  for (const [place, value] of wrong) {
    assert.ok(problemOf(changed(place, value))?.includes(written(place)), `${written(place)} ${JSON.stringify(value)}`)
  }
})

test('texts have the form of what they name', () => {
  const wrong: [Place, unknown][] = [
    [['upstream'], 'ftp://x'],
    [['upstream'], '127.0.0.1:8080'],
    [['facilitator'], 'facilitator.example'],
    [['payTo'], 'ADDRESS'],
    [['routes', 'GET /a', 'payTo'], 'ADDRESS'],
    [['origin'], 'https://shop.example/path'],
    [['origin'], 'shop.example'],
    [['cors', 0], '*'],
    [['cors', 0], 'a.example'],
    [['cors', 0], 'https://a.example/'],
    [['networkIds'], 'Both'],
    [['methodInBody'], 'allow'],
    [['routes', 'GET /a', 'otherMethods'], 'allow'],
    [['routes', 'GET /a', 'paymentFlow'], 'later'],
    [['routes', 'GET /a', 'input', 'bodyType'], 'xml'],
    [['passes', 'scope'], 'host'],
    [['passes', 'secret', 0], 'short'],
    [['headers', 'B'], { env: 'KEY', file: 'x' }],
    [['headers', 'B'], { prefix: 'x' }],
    [['headers', 'B'], { file: '/dev/null', prefix: 'Bearer ' }],
  ]
  for (const [place, value] of wrong) {
    assert.ok(problemOf(changed(place, value))?.includes(written(place)), `${written(place)} ${JSON.stringify(value)}`)
  }
})

test('names a file that is not an object, is too large, or lacks a member', () => {
  for (const content of ['', '[]', 'null', '{', '{"a":1,}', ' '.repeat(2_000_000)]) {
    assert.match(problemOf(content) ?? '', /is not a JSON object of at most 1 MiB/)
  }
  const rest = { facilitator: 'http://y', payTo, routes: { '/a': '$1' } }
  assert.match(problemOf(rest) ?? '', /--upstream is missing/)
  assert.match(problemOf({ ...rest, upstream: 'http://x', routes: {} }) ?? '', /--price is missing/)
  assert.match(
    problemOf({ ...rest, upstream: 'http://x', routes: { '/a': {} } }) ?? '',
    /routes\["\/a"\]\.price is missing/,
  )
  assert.match(problemOf({ ...rest, upstream: 'http://x', payTo: undefined }) ?? '', /--pay-to is missing/)
  assert.match(problemOf({ ...rest, upstream: 'http://x', discovery: {} }) ?? '', /discovery\.title is missing/)
})
