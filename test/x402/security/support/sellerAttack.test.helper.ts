/** Asks a seller of `GET /weather` for its goods in every way except a paid one. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'

/** The content that only a buyer may get. */
const goods = /sunny|temperature/i

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'get',
  'XGET',
]

const targets = [
  '/',
  '/weather',
  '/weather/',
  '/weather//',
  '//weather',
  '/./weather',
  '/x/../weather',
  '/x/%2e%2e/weather',
  '/weather/.',
  '/weather/..;/weather',
  '/Weather',
  '/WEATHER',
  '/we%61ther',
  '/we%2561ther',
  '/%77eather',
  '/%2fweather',
  '/%5cweather',
  '/weather%2f',
  '/weather%00',
  '/weather%20',
  '/weather%3f',
  '/weather;a=1',
  '/weather.json',
  '/weather/now',
  '/weather?x402-page=none',
  '/weather?a=/free',
  '/?/weather',
  '/index.html',
  '/favicon.ico',
  'http://127.0.0.1/weather',
  'http://127.0.0.1/',
  '*',
]

type Headers = readonly string[]

const plain: Headers = []
const variants: readonly Headers[] = [
  [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ],
  ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA'],
  ['X-HTTP-Method-Override: GET'],
  ['X-Original-URL: /free', 'X-Rewrite-URL: /free', 'X-Forwarded-Prefix: /free'],
  ['PAYMENT-SIGNATURE: e30=', 'X-PAYMENT: e30='],
  ['Content-Type: text/plain', 'Content-Length: 0'],
]

/** Makes all requests; returns how many there were. */
export async function attack(url: string): Promise<number> {
  const requests = methods.flatMap((method) => targets.map((target) => ({ method, target, headers: plain })))
  for (const headers of variants) {
    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
      for (const target of ['/', '/weather', '/weather/']) requests.push({ method, target, headers })
    }
  }
  const queue = [...requests]
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) await checkOne(url, next)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return requests.length
}

type Attempt = { method: string; target: string; headers: Headers }

async function checkOne(url: string, { method, target, headers }: Attempt): Promise<void> {
  const answer = await exchange(url, { method, target, headers })
  const what = `${method} ${target} ${headers.join(', ')}:\n${answer.slice(0, 400)}`
  assert.doesNotMatch(answer, goods, what)
  assert.doesNotMatch(answer, /^HTTP\/1\.1 101/, what)
  // A response without a body can reveal by its status that the handler ran.
  const status = Number(answer.split(' ')[1])
  const isGatesOwn = method === 'OPTIONS' && status === 204
  if (/^\/weather\/?$/.test(target) && !isGatesOwn) assert.ok(status >= 400, what)
}

/** Returns the bytes until the end, or until nothing more can arrive on an upgraded connection. */
function exchange(url: string, { method, target, headers }: Attempt): Promise<string> {
  const { hostname, port, host } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const connection = headers.some((one) => one.startsWith('Connection:')) ? [] : ['Connection: close']
    socket.write(`${method} ${target} HTTP/1.1\r\n${[`Host: ${host}`, ...connection, ...headers].join('\r\n')}\r\n\r\n`)
    let text = ''
    let quiet: NodeJS.Timeout | undefined
    const end = (): void => {
      clearTimeout(quiet)
      socket.destroy()
      resolve(text)
    }
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
      // An upgraded connection stays open, but nothing can follow a complete response.
      if (connection.length === 0 && isComplete(text, method)) end()
    })
    socket.on('error', end).on('close', end)
    quiet = setTimeout(end, 20_000)
  })
}

function isComplete(text: string, method: string): boolean {
  const [head, body] = text.split('\r\n\r\n', 2)
  if (body === undefined || head === undefined) return false
  // The response to HEAD has the length of a body, and none.
  if (method === 'HEAD') return true
  const length = /^content-length: *([0-9]+)/im.exec(head)?.[1]
  if (length !== undefined) return body.length >= Number(length)
  return /^transfer-encoding: *chunked/im.test(head) ? body.endsWith('0\r\n\r\n') || body.endsWith('0\r\n') : true
}
