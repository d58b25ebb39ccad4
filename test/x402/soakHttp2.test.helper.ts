/** Provides a `fetch` over HTTP/2 without TLS, because Node's own supports only HTTP/1.1. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2'
import { buffer } from 'node:stream/consumers'

type Scope = { after: (work: () => unknown) => void }

export function http2Fetch(t: Scope, origin: string): typeof fetch {
  let session: ClientHttp2Session | undefined
  // A closing session has a successor, and stays open as long as a lost response keeps one of its streams.
  const sessions = new Set<ClientHttp2Session>()
  t.after(() => {
    for (const one of sessions) one.destroy()
  })
  const open = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      const opened = connect(origin)
      opened.on('error', () => {})
      sessions.add(opened)
      opened.once('close', () => sessions.delete(opened))
      session = opened
    }
    return session
  }
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const body = Buffer.from(await request.arrayBuffer())
    request.signal.throwIfAborted()
    const headers = { ':method': request.method, ':path': `${pathname}${search}` }
    const hasBody = body.length > 0
    const stream = open().request({ ...Object.fromEntries(request.headers), ...headers }, { endStream: !hasBody })
    stream.on('error', () => {})
    const abort = (): void => stream.close(constants.NGHTTP2_CANCEL)
    request.signal.addEventListener('abort', abort)
    try {
      if (hasBody) stream.end(body)
      const [received] = (await Promise.race([
        once(stream, 'response'),
        once(stream, 'close').then(() => Promise.reject(new TypeError('the stream was closed'))),
      ])) as [IncomingHttpHeaders]
      const bytes = await buffer(stream)
      if (stream.rstCode !== 0) throw new TypeError(`the stream was reset: ${stream.rstCode}`)
      const entries = Object.entries(received).filter(([name]) => !name.startsWith(':'))
      const fields = entries.map(([name, value]): [string, string] => [name, String(value)])
      return new Response(new Uint8Array(bytes), { status: Number(received[':status']), headers: fields })
    } catch (error) {
      request.signal.throwIfAborted()
      throw error
    } finally {
      request.signal.removeEventListener('abort', abort)
    }
  }
}
