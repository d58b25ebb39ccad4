/** Provides HTTP/2 servers and a client. */
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  createSecureServer,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Shop } from './shops.test.helper.js'

/** A self-signed certificate for localhost; it protects nothing. */
export const tls = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiB2hwNMBtW0iEpao
jPdNqhtlU7RwCAZJHegrmy3lblShRANCAAR/0XXyeeTfYK44IAV9EHgbkak/ZPcV
TSyWxjHLhWC8AP87dO1ezHvgSr0hC1znvO9XTZFAj4gu3K4McdokeHFv
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUA5QO1noixLnst5gi5sQ7WiIWvMUwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTE5MTEzN1oYDzIxMjYxMDIy
MTkxMTM3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAR/0XXyeeTfYK44IAV9EHgbkak/ZPcVTSyWxjHLhWC8AP87dO1ezHvg
Sr0hC1znvO9XTZFAj4gu3K4McdokeHFvo1MwUTAdBgNVHQ4EFgQUJQIwKAWy59Nr
Le+McwZgtCtVU/0wHwYDVR0jBBgwFoAUJQIwKAWy59NrLe+McwZgtCtVU/0wDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEApvUH+UdPUKR/gel1oQUn
VXWUW1ASx17ZuUH1nMCAJX0CIErXKyU5lHSm9Pri0G49QNc8y1mhgQuVN4M24a0x
XbNb
-----END CERTIFICATE-----`,
}

type Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void

export async function listenHttp2(listener: Listener, { isSecure = false } = {}): Promise<Shop> {
  const server = isSecure ? createSecureServer({ ...tls, allowHTTP1: true }, listener) : createServer(listener)
  const sessions = new Set<{ destroy: () => void }>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: async () => {
      for (const session of sessions) session.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Everything received besides the response: pushed streams and informational headers. */
export type Http2Extras = { pushes: IncomingHttpHeaders[]; interim: IncomingHttpHeaders[] }

/** Returns a `fetch` over HTTP/2, with one connection for each request. */
export function http2Fetch(extras: Http2Extras = { pushes: [], interim: [] }): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { origin, pathname, search } = new URL(request.url)
    const session = connect(origin, { rejectUnauthorized: false })
    try {
      return await ask(session, request, `${pathname}${search}`, extras)
    } finally {
      session.destroy()
    }
  }
}

async function ask(
  session: ClientHttp2Session,
  request: Request,
  path: string,
  extras: Http2Extras,
): Promise<Response> {
  session.on('stream', (pushed, headers) => {
    extras.pushes.push(headers)
    pushed.resume()
  })
  const body = Buffer.from(await request.arrayBuffer())
  const failed = new Promise<never>((_, reject) => session.once('error', reject))
  const headers = { ...Object.fromEntries(request.headers), ':path': path, ':method': request.method }
  const stream = session.request(headers, { endStream: body.length === 0 })
  stream.on('headers', (headers) => extras.interim.push(headers))
  if (body.length > 0) stream.end(body)
  const answer = async (): Promise<Response> => {
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    const status = headers[':status']!
    const isEmpty = status === 204 || status === 304 || request.method === 'HEAD'
    return new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers: fieldsOf(headers) })
  }
  failed.catch(() => {})
  return Promise.race([answer(), failed])
}

function fieldsOf(headers: IncomingHttpHeaders): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (name.startsWith(':') || value === undefined) return []
    return [value].flat().map((one): [string, string] => [name, String(one)])
  })
}
