import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, IncomingMessage, request, ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { pipeline, Readable, Writable } from 'node:stream'
import test, { type TestContext } from 'node:test'
import type { Admission } from '../gate/Gate.js'
import { mergeHeader } from '../gate/responses.js'
import { type BufferOptions, bufferResponse } from './applyGate.js'
import { addHeadersOnSend } from './NodeMessage.js'

type Log = string[]

function admission(log: Log, replacement?: Response): Admission {
  return {
    payer: 'payer',
    transactionId: 'id',
    payment: () => assert.fail('not asked for'),
    settled: undefined,
    isStreamed: false,
    headers: [['Access-Control-Allow-Origin', '*']],
    settle: async () => {
      log.push('settle')
      return replacement === undefined
        ? {
            headers: [
              ['PAYMENT-RESPONSE', 'receipt'],
              ['Cache-Control', 'private'],
            ],
          }
        : { response: replacement }
    },
    cancel: async () => void log.push('cancel'),
    disconnected: () => {
      log.push('disconnected')
      return new Promise(() => {})
    },
    undelivered: async () => void log.push('undelivered'),
  }
}

type Options = BufferOptions & { replacement?: Response; before?: (response: ServerResponse) => void }

/** The part of a buffered response that a client receives. */
async function received(
  t: TestContext,
  handler: (response: ServerResponse) => void,
  { replacement, before, ...options }: Options = {},
) {
  const log: Log = []
  const server = createServer((message, response) => {
    before?.(response)
    bufferResponse(message, response, admission(log, replacement), { onError: () => {}, ...options })
    handler(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const sent = request({ port, agent: false }).end()
  const [response] = await once(sent, 'response')
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return {
    status: response.statusCode as number,
    message: response.statusMessage,
    headers: response.headers,
    trailers: response.trailers,
    body,
    log,
  }
}

test('the response is sent unchanged after the settlement', async (t) => {
  const got = await received(t, (response) => {
    response.writeHead(201, 'Made', [
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'Cache-Control',
      'public, max-age=5',
      'Trailer',
      'X-Sum',
    ])
    response.write('6f6e65', 'hex')
    response.write(new Uint8Array([44]), () => response.end('two', 'utf8'))
    response.addTrailers({ 'X-Sum': '7' })
  })
  assert.deepEqual([got.status, got.message, got.body, got.log], [201, 'Made', 'one,two', ['settle']])
  assert.deepEqual(got.headers['set-cookie'], ['a=1', 'b=2'])
  assert.equal(got.headers['cache-control'], 'private, max-age=5')
  assert.equal(got.headers['payment-response'], 'receipt')
})

test('a replacement drops the handler’s headers, and keeps earlier ones', async (t) => {
  const replacement = new Response('no', { status: 402, headers: { 'X-Gate': 'x' } })
  const got = await received(
    t,
    (response) => {
      response.writeHead(200, 'Secret', [
        ['X-Secret', 's'],
        ['Set-Cookie', 's'],
      ] as never)
      response.removeHeader('X-Before')
      response.end('secret')
    },
    { replacement, before: (response) => response.setHeader('X-Before', 'kept') },
  )
  assert.deepEqual([got.status, got.message, got.body], [402, 'Payment Required', 'no'])
  assert.equal(got.headers['x-secret'] ?? got.headers['set-cookie'], undefined)
  assert.deepEqual([got.headers['x-gate'], got.headers['x-before']], ['x', 'kept'])
})

test('an error response is not charged and has no receipt', async (t) => {
  const got = await received(t, (response) => {
    response.statusCode = 500
    response.setHeader('PAYMENT-RESPONSE', 'of another')
    response.end('sorry')
  })
  assert.deepEqual([got.status, got.body, got.log], [500, 'sorry', ['cancel']])
  assert.equal(got.headers['payment-response'], undefined)
  assert.equal(got.headers['access-control-allow-origin'], '*')
})

test('a handler that fails midway is not charged, and its partial response is not sent', async (t) => {
  const got = await received(t, (response) => {
    response.write('half of the goods')
    // Nothing was sent, and error handlers may write their page instead of closing the connection.
    assert.equal(response.headersSent, false)
    response.statusCode = 500
    response.end('error')
  })
  assert.equal(got.status, 500)
  assert.ok(!got.body.includes('goods'))
  assert.deepEqual(got.log, ['cancel'])
})

test('a response above the limit fails', async (t) => {
  const got = await received(
    t,
    (response) => {
      assert.equal(response.write('1234'), true)
      assert.equal(response.write('56789'), false)
      response.write('more')
      response.end('and more')
    },
    { maxBytes: 8 },
  )
  assert.deepEqual([got.status, got.log], [500, ['cancel']])
  assert.match(got.body, /more than 8 bytes/)
})

test('settles and holds the answer although the client has disconnected, which the handler sees afterwards', async (t) => {
  const log: Log = []
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const sent = request({ port: (server.address() as AddressInfo).port, agent: false }).on('error', () => {})
  sent.end()
  const [message, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const { socket } = message
  bufferResponse(message, response, admission(log))
  response.once('close', () => log.push('close'))
  response.socket!.once('close', () => log.push('socket'))
  sent.destroy()
  await once(socket, 'close')
  assert.deepEqual([response.closed, response.destroyed, response.socket!.writable], [false, false, true])
  // Pipes and pipelines stop if the response is closed, and nothing would be settled.
  const closed = once(response, 'close')
  pipeline(Readable.from(['too ', 'late']), response, () => {})
  await closed
  await new Promise(setImmediate)
  assert.deepEqual(log, ['disconnected', 'settle', 'undelivered', 'close', 'socket'])
  assert.deepEqual([response.closed, response.destroyed], [true, true])
})

test('does not treat a delivered response to a pipelined request as undelivered', async (t) => {
  const log: Log = []
  const first: ServerResponse[] = []
  const server = createServer((message, response) => {
    if (message.url === '/first') return void first.push(response)
    bufferResponse(message, response, admission(log))
    response.end('second')
    response.once('finish', () => log.push('finish'))
    response.once('close', () => setImmediate(() => log.push('end')))
    // The response has no socket yet.
    setImmediate(() => setImmediate(() => first[0]!.end('first')))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  let text = ''
  for await (const chunk of socket.setEncoding('utf8')) text += chunk
  assert.match(text, /first.*second/s)
  while (!log.includes('end')) await new Promise(setImmediate)
  assert.deepEqual(log, ['settle', 'finish', 'end'])
})

test('a streamed response has the receipt', async (t) => {
  const server = createServer((_, response) => {
    addHeadersOnSend(response, [
      ['PAYMENT-RESPONSE', 'receipt'],
      ['Cache-Control', 'private'],
    ])
    response.writeHead(200, { 'Cache-Control': 'public', 'payment-response': 'forged', 'X-Own': '1' })
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  assert.deepEqual(
    ['payment-response', 'cache-control', 'x-own'].map((name) => headers.get(name)),
    ['receipt', 'private', '1'],
  )
})

test('joins list headers, and makes Cache-Control private', () => {
  assert.equal(mergeHeader('Cache-Control', 'Public, s-maxage=9, max-age=1', 'private'), 'private, max-age=1')
  assert.equal(mergeHeader('cache-control', 'no-store', 'private'), 'private, no-store')
  assert.equal(mergeHeader('Vary', 'Accept, origin', 'Origin'), 'Accept, origin')
  assert.equal(mergeHeader('Access-Control-Expose-Headers', 'X-A', 'X-B'), 'X-A, X-B')
  assert.equal(mergeHeader('X-Other', 'a', 'b'), 'b')
})

test('a body arrives unchanged through a host whose sockets treat every string as UTF-8', async () => {
  for (const body of ['sunny', 'bewölkt', Buffer.from([0xff, 0x00, 0x89, 0x50])]) {
    const message = new IncomingMessage(new Socket())
    const response = new ServerResponse(message)
    const written: Buffer[] = []
    const socket = new Writable({
      decodeStrings: false,
      write: (piece: string | Buffer, _, done) => {
        written.push(typeof piece === 'string' ? Buffer.from(piece) : piece)
        done()
      },
    })
    response.assignSocket(socket as Socket)
    bufferResponse(message, response, admission([]), { onError: (error) => assert.fail(String(error)) })
    response.end(body)
    await once(response, 'finish')
    const all = Buffer.concat(written)
    assert.deepEqual(all.subarray(all.indexOf('\r\n\r\n') + 4), Buffer.from(body as string))
  }
})
