/** The seller's page for `node:http`, Express and similar frameworks. */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { warn } from '../../errors.js'
import { json } from '../gate/responses.js'
import { type SalesPageOptions, salesPage } from '../sales/salesPage.js'
import { mountedPath } from './applyGate.js'
import { type NodeRequest, type NodeResponse, send, webRequest } from './NodeMessage.js'

/** A listener that serves the seller's page. */
export type SalesListener = (request: NodeRequest, response: NodeResponse) => Promise<void>

/**
 * `salesPage` as a listener of `node:http`, for any path.
 *
 * @throws OptionsError if there is neither a token nor a function, or the store keeps no sales
 * @example
 * app.use('/sales', salesListener({ claims, token: process.env['SALES_TOKEN'] })) // Express
 */
export function salesListener(options: SalesPageOptions): SalesListener {
  const handle = salesPage(options)
  const { onError = warn } = options
  return async (request, response) => {
    const closed = new AbortController()
    const onClose = (): void => closed.abort()
    response.once('close', onClose)
    try {
      const web = webRequest(request, mountedPath(request).path, closed.signal)
      await stream(response as ServerResponse, await handle(web), closed.signal)
    } catch (error) {
      const isRequest = error instanceof TypeError
      if (!isRequest) onError(error)
      if (response.headersSent) return
      const [status, text] = isRequest
        ? [400, 'the request has no valid URL']
        : [500, 'the sales cannot be read at the moment']
      await send(response, json(status as number, { error: text }))
    } finally {
      response.off('close', onClose)
    }
  }
}

/** Streams the file of all payments, which may have tens of megabytes. */
async function stream(
  response: ServerResponse,
  { status, headers, body }: Response,
  closed: AbortSignal,
): Promise<void> {
  response.statusCode = status
  for (const [name, value] of headers) response.setHeader(name, value)
  if (body === null) {
    response.end()
    return
  }
  try {
    await pipeline(Readable.fromWeb(body as ReadableStream), response)
  } catch (error) {
    if (!closed.aborted) throw error
  }
}
