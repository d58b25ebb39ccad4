/** Streamable HTTP on this machine: requires a bearer token, and accepts only host names and pages of this machine. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { Access } from '@latchkey/http'
import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server'

/** Options of {@link newHttpHandler}. */
export type HttpHandlerOptions = {
  /** The bearer token that every request must have. */
  token: string
  /** Called with errors that are not the client's fault. */
  onError?: ((error: Error) => void) | undefined
}

/** The maximum request size. */
export const maxHttpBodyBytes = 1024 * 1024

/** The path of the server. */
export const mcpPath = '/mcp'

export type HttpHandler = {
  readonly fetch: (request: Request) => Promise<Response>
  readonly close: () => Promise<void>
}

/**
 * A fetch handler that serves MCP to holders of the token. Refuses DNS rebinding and requests from pages of other
 * origins.
 */
export function newHttpHandler(factory: McpServerFactory, { token, onError }: HttpHandlerOptions): HttpHandler {
  const handler = createMcpHandler(factory, {
    maxRequestBodySize: maxHttpBodyBytes,
    ...(onError === undefined ? {} : { onerror: onError }),
  })
  const expected = digestOf(`Bearer ${token}`)
  return {
    fetch: async (request) => refusal(request, expected) ?? (await handler.fetch(request)),
    close: () => handler.close(),
  }
}

function refusal(request: Request, expected: Buffer): Response | undefined {
  const { headers } = request
  const host = headers.get('host') ?? new URL(request.url).host
  if (!Access.isLoopback(Access.hostName(host)))
    return plain(403, 'this host name is not served; use 127.0.0.1 or localhost')
  const origin = headers.get('origin')
  if (origin !== null && !Access.isLoopbackOrigin(origin))
    return plain(403, 'web pages of this origin may not use this server')
  // Digests have equal lengths, so the comparison time reveals nothing.
  if (!timingSafeEqual(digestOf(headers.get('authorization') ?? ''), expected)) {
    return plain(401, 'the bearer token is missing or wrong', { 'WWW-Authenticate': 'Bearer' })
  }
  if (new URL(request.url).pathname !== mcpPath) return plain(404, `not found; the path is ${mcpPath}`)
  return undefined
}

function plain(status: number, message: string, headers: { [name: string]: string } = {}): Response {
  return Response.json({ message }, { status, headers })
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
