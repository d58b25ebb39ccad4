import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Admission } from '../exchange/Admission.js'
import { StreamedResponse } from './StreamedResponse.js'

type Handler = (response: ServerResponse, message: IncomingMessage) => void

/** A server with one streamed response, and a log of the calls to its admission. */
async function open(
  t: TestContext,
  handler: Handler,
  pass?: Admission['pass'],
  headers: Admission['headers'] = [['PAYMENT-RESPONSE', 'receipt']],
) {
  const log: string[] = []
  let onOver = (): void => {}
  const over = new Promise<void>((resolve) => {
    onOver = resolve
  })
  const note = async (text: string): Promise<void> => {
    log.push(text)
    onOver()
  }
  let onLeft = (): void => {}
  const left = new Promise<void>((resolve) => {
    onLeft = resolve
  })
  let timeUp = (): void => {}
  const admission = {
    pass,
    isStreamed: true,
    headers,
    settle: async (answer: { body: Uint8Array } | undefined) => {
      await note(`settle ${answer === undefined ? 'without a copy' : Buffer.from(answer.body)}`)
      return { headers: [] }
    },
    cancel: () => note('cancel'),
    disconnected: () => {
      onLeft()
      return new Promise<void>((resolve) => {
        timeUp = resolve
      })
    },
    undelivered: async () => void log.push('undelivered'),
  } as unknown as Admission
  const server = createServer((message, response) => {
    new StreamedResponse({ request: message, response, admission, onError: (error) => assert.fail(String(error)) })
    handler(response, message)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const sent = request({ port: (server.address() as AddressInfo).port, agent: false }).end()
  sent.on('error', () => {})
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return { response, log, over, left, timeUp: () => timeUp() }
}

test('a sent response has the receipt, and is settled with a copy', async (t) => {
  const { response, log, over } = await open(t, (own) => {
    own.write('a')
    own.end(Buffer.from('b'))
  })
  assert.equal(response.headers['payment-response'], 'receipt')
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  await over
  assert.deepEqual([body, log], ['ab', ['settle ab']])
})

test('cancels if a handler destroys its response, or ends it before its Content-Length', async (t) => {
  const cuts: Handler[] = [
    (own) => {
      own.write('a')
      setImmediate(() => own.destroy())
    },
    (own) => {
      own.writeHead(200, { 'Content-Length': 2 }).write('a')
      own.end()
    },
    (own, message) => {
      own.write('a')
      setImmediate(() => message.socket.destroy())
    },
    (own) => {
      own.write('a')
      setImmediate(() => own.socket!.destroy())
    },
    (own) => void own.writeHead(500).end('broken'),
  ]
  for (const cut of cuts) {
    const { log, over, response } = await open(t, cut)
    response.resume()
    await over
    assert.equal(log[0], 'cancel')
  }
})

test('a handler continues and does not see that its client left before the end', async (t) => {
  const events: string[] = []
  let own!: ServerResponse
  const { response, log, over, left } = await open(t, (made, message) => {
    own = made
    own.on('close', () => events.push('response'))
    message.on('close', () => events.push('request')).on('aborted', () => events.push('aborted'))
    own.write('a')
  })
  response.destroy()
  await left
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([events, own.destroyed, own.closed], [[], false, false])
  assert.equal(own.write('b'), true)
  own.end('c')
  await over
  assert.equal(log[0], 'settle abc')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(log, ['settle abc', 'undelivered'])
  assert.deepEqual(events.sort(), ['aborted', 'request', 'response'])
})

test('a handler that waits for a client that leaves continues', async (t) => {
  let own!: ServerResponse
  const { response, left } = await open(t, (made) => {
    own = made
    while (own.write('x'.repeat(1_000)));
  })
  const drained = once(own, 'drain')
  response.destroy()
  await left
  await drained
  own.end()
})

test('a handler sees that its client has left when its time is up, or its response cannot be held', async (t) => {
  const timed = await open(t, (own) => void own.write('a'))
  timed.response.destroy()
  await timed.left
  timed.timeUp()
  await timed.over
  assert.deepEqual(timed.log, ['cancel'])
  let own!: ServerResponse
  const long = await open(t, (made) => {
    own = made
    own.write('a')
  })
  long.response.destroy()
  await long.left
  const closed = once(own, 'close')
  assert.equal(own.write('x'.repeat(1024 * 1024)), false)
  await closed
  assert.deepEqual(long.log, ['cancel'])
})

test('a pass request is used up if the client leaves, and returned if the handler fails', async (t) => {
  const pass = { untilMs: 0, requestsLeft: 1 }
  const left = await open(t, (own) => void own.write('a'), pass)
  left.response.destroy()
  await left.over
  assert.deepEqual(left.log, ['settle without a copy'])
  const failed = await open(
    t,
    (own) => {
      own.write('a')
      setImmediate(() => own.destroy())
    },
    pass,
  )
  await failed.over
  assert.deepEqual(failed.log, ['cancel'])
})

test('a pass request is used up if the handler breaks off because the client left', async (t) => {
  const reactions: Handler[] = [
    (own, message) => message.on('aborted', () => own.destroy()),
    (own, message) => message.socket.on('end', () => own.destroy()),
    (own, message) => message.on('aborted', () => own.end()),
  ]
  for (const react of reactions) {
    const { response, over, log } = await open(
      t,
      (own, message) => {
        react(own, message)
        own.writeHead(200, { 'Content-Length': 2 }).write('a')
      },
      { untilMs: 0, requestsLeft: 1 },
    )
    response.socket.end()
    await over
    assert.deepEqual(log, ['settle without a copy'])
  }
})

test('a request that is sent once is charged if the handler breaks off because the client stopped reading', async (t) => {
  const reactions: ((own: ServerResponse) => void)[] = [
    (own) => void setTimeout(() => own.destroy(), 50),
    (own) => void setTimeout(() => own.destroy(new Error('too slow')), 50),
    (own) => void own.setTimeout(50, () => void own.destroy()),
  ]
  for (const react of reactions) {
    const handler: Handler = (own) => {
      const piece = Buffer.alloc(64 * 1024)
      const more = (): void => {
        while (own.write(piece)) {}
      }
      own.on('drain', more)
      more()
      // The buffers of both sides are full when the client, which reads nothing, has made the last write wait.
      let lengthBefore = -1
      const timer = setInterval(() => {
        if (own.writableLength === lengthBefore) {
          clearInterval(timer)
          react(own)
        }
        lengthBefore = own.writableLength
      }, 100)
    }
    const { response, over, log } = await open(t, handler, { untilMs: 0, requestsLeft: 1 })
    response.pause()
    await over
    assert.deepEqual(log, ['settle without a copy'])
    response.destroy()
  }
})

test('a handler that breaks off while its client reads has failed', async (t) => {
  const handler: Handler = (own) => {
    own.write(Buffer.alloc(256 * 1024))
    own.once('drain', () => own.destroy())
  }
  const { response, over, log } = await open(t, handler, { untilMs: 0, requestsLeft: 1 })
  response.resume()
  await over
  assert.deepEqual(log, ['cancel'])
})

test('a request that is sent once is charged if its client had not read for long when the handler breaks off', async (t) => {
  const handler: Handler = (own) => {
    own.on('drain', () => own.destroy())
    // More than the buffers of both sides.
    own.write(Buffer.alloc(32 * 1024 * 1024))
  }
  const { response, over, log } = await open(t, handler, { untilMs: 0, requestsLeft: 1 })
  response.pause()
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  response.resume()
  await over
  assert.deepEqual(log, ['settle without a copy'])
})

test('shared caches keep no response that is sent before it is charged', async (t) => {
  const handler: Handler = (own) => {
    own.setHeader('Cache-Control', 'public, max-age=600')
    own.setHeader('X-Accel-Expires', '600')
    own.end('goods')
  }
  const { response } = await open(t, handler, undefined, [])
  assert.equal(response.headers['cache-control'], 'private, max-age=600')
  assert.equal(response.headers['x-accel-expires'], '0')
  response.resume()
})

test('a response that its handler ends because the client left is no answer to repeat', async (t) => {
  const handler: Handler = (own) => {
    own.write('a part')
    own.req.once('aborted', () => own.end())
  }
  const { response, over, log } = await open(t, handler, { untilMs: 0, requestsLeft: 1 })
  response.destroy()
  await over
  assert.deepEqual(log, ['settle without a copy'])
})
