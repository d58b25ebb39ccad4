/** Generates requests that programs may read in different ways, from a seed. */

/** Returns numbers from 0 to below `limit`, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

const methods = [
  ...['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'PROPFIND', 'M-SEARCH', 'TRACE', 'CONNECT', 'PRI'],
  ...['get', 'GE T', 'G\0ET', 'GET\t', '\r\nGET', '\nGET', ' GET', 'GET,POST', 'POST /free/x HTTP/1.1\r\nX: GET'],
]
const versions = ['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 ', 'HTTP/01.1', 'HTTP/1.1x', '']

const targets = [
  ...[
    'http://x/free/a',
    'HTTP://x/free/a',
    'http://x@y/free/a',
    'http:///free/a',
    'http://x\\free/a',
    'http://[::1]/free/a',
  ],
  ...['//x/free/a', '/free/../paid/a', '/free/%2e%2e/paid/a', '/free/..;/paid/a', '/free\\..\\paid\\a', '/FREE/a', '*'],
  ...['/free/a b', '/free/a\tHTTP/1.1', 'free/a', '/free/%0d%0aGET%20/paid', 'http://x/paid/..%2ffree', '/%66ree/a'],
  ...[
    '/free/a%00b',
    '/free/\xe9',
    '/paid/a',
    '/free/a#/../paid',
    '/free/a?/../../paid',
    '/free//../paid/a',
    'x:/paid/a',
  ],
  ...[
    '/free/a?_method=PUT',
    '/free/a;/../paid',
    '?/free/a',
    'http://x?/free/a',
    '/free/a HTTP/1.1\r\nX: y',
    '/free/\x7f',
  ],
]

const lengths = (length: number): string[] => [
  ...[
    `${length}`,
    `${length + 7}`,
    `${Math.max(0, length - 7)}`,
    `+${length}`,
    `0${length}`,
    `0x${length.toString(16)}`,
  ],
  ...[
    `${length} `,
    `\t${length}`,
    `${length},${length}`,
    `${length}, ${length}`,
    `${length},0`,
    `-${length}`,
    `${length}.0`,
  ],
  ...[
    '',
    '0',
    '1e2',
    '18446744073709551617',
    `${length}\r\n 1`,
    `${length}\n`,
    `\x0b${length}`,
    `${length};a`,
    `"${length}"`,
  ],
]

const codings = [
  ...['chunked', 'Chunked', 'CHUNKED', '\tchunked', 'chunked ', 'chunked\t', '\x0bchunked', 'chunked\x0b', '"chunked"'],
  ...[
    'chunked, identity',
    'identity, chunked',
    'gzip, chunked',
    'chunked, chunked',
    'chunked;q=1',
    'xchunked',
    'chunk',
  ],
  ...[
    'identity',
    'cow',
    '',
    'chunked\r\n , identity',
    'chunked\r\n',
    'chunked,',
    ',chunked',
    '\x00chunked',
    'chunked\r x',
  ],
]
const codingNames = [
  ...['Transfer-Encoding', 'transfer-encoding', 'Transfer_Encoding', 'Transfer-Encoding ', 'Transfer-Encoding\t', 'TE'],
  ...[
    ' Transfer-Encoding',
    'X: y\nTransfer-Encoding',
    'X: y\rTransfer-Encoding',
    'Transfer\0-Encoding',
    'Transfer-Encodin\xff',
  ],
]

const chunkSizes = (size: number): string[] => {
  const digits = size.toString(16)
  return [
    ...[
      digits,
      digits,
      `0${digits}`,
      `0000000000000000000${digits}`,
      `${digits};a`,
      `${digits};a=b`,
      `${digits};a="b;c"`,
    ],
    ...[
      `${digits} ; a`,
      `${digits};a\n`,
      `${digits};a\rb`,
      `0x${digits}`,
      `+${digits}`,
      `-${digits}`,
      `${digits} `,
      `\t${digits}`,
    ],
    ...[
      `${digits}\n`,
      `${digits}\0`,
      'G',
      `1${'0'.repeat(15)}${digits}`,
      `f${'f'.repeat(16)}${digits}`,
      `${digits.toUpperCase()};`,
    ],
    ...[`${digits};a="\r\n0\r\n\r\n"`, `${digits};${'a'.repeat(20_000)}`, '', `${digits}\r`, `${digits}_0`],
  ]
}
const chunkEnds = ['\r\n', '\r\n', '\r\n', '\n', '\r', '', ' \r\n', 'XX', '\r\n\r\n']
const lastChunks = ['0', '0', '0', '00', '0;a', '0 ', '0\n', '-0', '0x0', '']
const trailers = [
  ...['', '', '', 'X-Trailer: y\r\n', 'Content-Length: 100\r\n', 'Transfer-Encoding: chunked\r\n', 'Host: evil\r\n'],
  ...['X-Payment-Payer: forged\r\n', 'X: y\n', 'X : y\r\n', ' X: y\r\n', 'X\r\n', 'X: y\r', ': y\r\n', 'X: y\0\r\n'],
]

const headers = [
  ...['Host: y', 'Host: x, y', 'Host : y', 'Host: x/paid', 'Host: x:80@y', 'host:y', 'Host:', ' Host: y', 'Host\0: y'],
  ...[
    'X-A: b\r\n c',
    'X-A: b\r\n\tc',
    'X-A: b\n c',
    'X-A\r\n: b',
    'X-A: b\rX-B: c',
    'X-A: b\r\n\r\nGET /paid/a HTTP/1.1',
  ],
  ...[
    ': b',
    'X-A',
    'X(A): b',
    'X A: b',
    'X-A: b\0c',
    'X-A: \x7f',
    'X-\xc4: b',
    'X-A: \xff',
    '\x0bX-A: b',
    'X-A :b',
    '\tX-A: b',
  ],
  ...[
    'Expect: 100-continue',
    'Expect: 100-Continue',
    'Expect: 200-ok',
    'Expect : 100-continue',
    'Expect: 100-continue, x',
  ],
  ...[
    'Connection: close',
    'Connection: keep-alive, Content-Length',
    'Connection: Transfer-Encoding',
    'Connection: Host',
  ],
  ...['Connection: X-Forwarded-For', 'Connection: close, X-A', 'Keep-Alive: timeout=5', 'Proxy-Connection: keep-alive'],
  ...[
    'Connection: Upgrade\r\nUpgrade: websocket',
    'Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
  ],
  ...[
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket, h2c',
    'Upgrade: websocket',
    'Connection: Upgrade\r\nUpgrade: TLS/1.0',
  ],
  ...[
    'Trailer: Content-Length',
    'TE: trailers',
    'X-HTTP-Method-Override: PUT',
    'X-Original-URL: /paid/a',
    'X-Rewrite-URL: /paid/a',
    'SCRIPT_NAME: /free',
    'Path_Info: /paid/a',
    'Connection: Content-Type',
  ],
  ...[
    'X-Forwarded-Host: y',
    'X-Forwarded-Prefix: /paid',
    'Content_Length: 4',
    'Content-Length : 4',
    'Content-Length\t: 4',
  ],
  ...['X-Payment-Payer: forged', 'X_Payment_Payer: forged', 'PAYMENT-SIGNATURE: e30=', 'Cookie: a=1\r\nCookie: b=2'],
]

const oddBytes = ['\r', '\n', '\0', ' ', '\t', ':', ';', '\x80', '\xff', '\r\n', '0', ',', '\x0b', '\x85']

/** A request and what follows it on the connection, as bytes in Latin-1. */
export function attempt(random: (limit: number) => number, token: string): string {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  // Half of the attempts have one oddity or none, so that more of them pass the gateway.
  const scale = random(2) === 0 ? 1 : 6
  const oneIn = (chances: number): boolean => random(chances * scale) === 0
  const inner = pick([
    `GET /paid/${token} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /admin/${token} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `POST /free/inner?${token} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`,
    `0\r\n\r\nGET /paid/${token} HTTP/1.1\r\nHost: x\r\nX: `,
    `GET /paid/${token} HTTP/1.1\r\nX: `,
  ])
  const { lines, body } = framing(random, inner, scale)
  const target = oneIn(4) ? pick(targets) : `/free/a?${token}`
  const method = oneIn(5) ? pick(methods) : pick(['GET', 'POST', 'POST', 'PUT'])
  const more = Array.from({ length: scale === 1 ? random(3) : random(2) }, () => pick(headers))
  const host = oneIn(12) ? [] : ['Host: x']
  const all = oneIn(2) ? [...host, ...more, ...lines] : [...lines, ...host, ...more]
  const start = `${method} ${target} ${oneIn(8) ? pick(versions) : 'HTTP/1.1'}`
  const ends = [start, ...all, ''].map(
    (line) => `${line}${oneIn(30) ? pick(['\n', '\r', '\r\r\n', '\n\r\n', ' \r\n']) : '\r\n'}`,
  )
  const sentinel = `GET /free/end?${token} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
  const text = `${ends.join('')}${body}${sentinel}`
  if (!oneIn(6)) return text
  const at = random(text.length)
  return `${text.slice(0, at)}${pick(oddBytes)}${text.slice(at + random(2))}`
}

function framing(random: (limit: number) => number, inner: string, scale: number): { lines: string[]; body: string } {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const isOdd = (): boolean => random(3 * scale) === 0
  const chunked = (): string => {
    const size = isOdd() ? pick(chunkSizes(inner.length)) : inner.length.toString(16)
    const last = isOdd() ? `${pick(lastChunks)}\r\n${pick(trailers)}` : '0\r\n'
    return `${size}\r\n${inner}${isOdd() ? pick(chunkEnds) : '\r\n'}${last}${isOdd() ? pick(['\n', '', '\r']) : '\r\n'}`
  }
  const length = (): string => `Content-Length: ${isOdd() ? pick(lengths(inner.length)) : inner.length}`
  const coding = (): string =>
    `${isOdd() ? pick(codingNames) : 'Transfer-Encoding'}: ${isOdd() ? pick(codings) : 'chunked'}`
  const kinds = [
    () => ({ lines: [length()], body: inner }),
    () => ({ lines: [length(), length()], body: inner }),
    () => ({ lines: [coding()], body: chunked() }),
    () => ({ lines: ['Transfer-Encoding: chunked'], body: chunked() }),
    () => ({ lines: [coding(), length()], body: chunked() }),
    () => ({ lines: [length(), coding()], body: chunked() }),
    () => ({ lines: [coding(), coding()], body: chunked() }),
    () => ({ lines: [length(), coding()], body: inner }),
    () => ({ lines: [], body: inner }),
    () => ({ lines: [], body: '' }),
  ]
  return (scale === 1 ? pick(kinds) : pick([kinds[0]!, kinds[2]!, kinds[3]!, kinds[8]!, kinds[9]!]))()
}
