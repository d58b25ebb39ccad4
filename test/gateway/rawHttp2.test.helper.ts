/** Writes HTTP/2 frames by hand, because Node's client refuses to send malformed requests. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

type Fields = readonly (readonly [string, string])[]

const types = { data: 0, headers: 1, reset: 3, settings: 4, goaway: 7, continuation: 9 }
/** The largest payload that a server accepts without having said otherwise. */
const maxPayload = 16_384
const cancel = Buffer.of(0, 0, 0, 8)
const flags = { endStream: 1, endHeaders: 4 }

function frame(type: number, flag: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flag, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** An integer of HPACK with a prefix of 7 bits (RFC 7541, 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.of(value)
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.of(...bytes, rest)
}

/** Each field as a literal with a new name, which is not indexed. */
function encoded(fields: Fields): Buffer {
  const text = (value: string): Buffer => Buffer.concat([integer(value.length), Buffer.from(value, 'latin1')])
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]))
}

/** A request's fields, in as many frames as they need. */
function headersOf(stream: number, fields: Fields, { isEnd }: { isEnd: boolean }): Buffer {
  const block = encoded(fields)
  const count = Math.max(1, Math.ceil(block.length / maxPayload))
  const frames = Array.from({ length: count }, (_, index) => {
    const type = index === 0 ? types.headers : types.continuation
    const flag = (index === 0 && isEnd ? flags.endStream : 0) | (index === count - 1 ? flags.endHeaders : 0)
    return frame(type, flag, stream, block.subarray(index * maxPayload, (index + 1) * maxPayload))
  })
  return Buffer.concat(frames)
}

/** Resolves once the server has answered a stream, reset it, or ended the connection. */
function outcomeOf(socket: TLSSocket, stream: number): Promise<'answered' | 'refused'> {
  let received = Buffer.alloc(0)
  return new Promise((resolve) => {
    socket.on('error', () => resolve('refused')).once('close', () => resolve('refused'))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
        const [type, about] = [received.readUInt8(3), received.readUInt32BE(5)]
        received = received.subarray(9 + received.readUIntBE(0, 3))
        if (about === stream && type === types.headers) resolve('answered')
        if ((about === stream && type === types.reset) || type === types.goaway) resolve('refused')
      }
    })
  })
}

async function open(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  await once(socket, 'secureConnect')
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(types.settings, 0, 0, Buffer.alloc(0)))
  return socket
}

/** Begins a request with a body, and returns a function that resets it. Node's client ends a body before it resets. */
export async function beginBody(port: number, fields: Fields, part: string): Promise<() => void> {
  const socket = await open(port)
  socket.on('error', () => {}).resume()
  socket.write(headersOf(1, fields, { isEnd: false }))
  socket.write(frame(types.data, 0, 1, Buffer.from(part, 'latin1')))
  return () => void socket.end(frame(types.reset, 0, 1, cancel))
}

/** Sends one request, and waits until the server has answered it, reset it or closed the connection. */
export async function sendFields(port: number, fields: Fields, body?: string): Promise<'answered' | 'refused'> {
  const socket = await open(port)
  const outcome = outcomeOf(socket, 1)
  socket.write(headersOf(1, fields, { isEnd: body === undefined }))
  if (body !== undefined) socket.write(frame(types.data, flags.endStream, 1, Buffer.from(body, 'latin1')))
  try {
    return await outcome
  } finally {
    socket.destroy()
  }
}

/**
 * Sends requests on one connection and resets each, then one that it does not reset. Node's own client may not notice
 * that the server has closed the connection.
 * @returns whether the server has answered the last request, or closed the connection before
 */
export async function sendResets(port: number, fields: Fields, count: number): Promise<'answered' | 'refused'> {
  const socket = await open(port)
  const last = 2 * count + 1
  const outcome = outcomeOf(socket, last)
  let isOver = false
  void outcome.then(() => {
    isOver = true
  })
  try {
    for (let stream = 1; stream < last && !isOver; stream += 2) {
      const pair = [headersOf(stream, fields, { isEnd: true }), frame(types.reset, 0, stream, cancel)]
      const isFull = !socket.write(Buffer.concat(pair))
      if (isFull) await Promise.race([outcome, new Promise((resolve) => socket.once('drain', resolve))])
    }
    if (!isOver) socket.write(headersOf(last, fields, { isEnd: true }))
    return await outcome
  } finally {
    socket.destroy()
  }
}
