/** Sends one request to one node, and checks whether the response comes from a node. */
import { type Transport, TransportError, type TransportRequest } from '@latchkey/http-client'
import { AlgodError } from './AlgodError.js'
import { NodeResponse } from './NodeResponse.js'
import type { PoolNode } from './PoolNode.js'

export type PoolRequest = {
  method: 'GET' | 'POST'
  path: string
  body?: Uint8Array<ArrayBuffer> | undefined
  contentType?: string | undefined
  /** Must not reach the same node twice. */
  once?: boolean
}

export type ExchangeOptions = Pick<TransportRequest, 'timeoutMs' | 'maxResponseBytes' | 'onStart'> & {
  transport: Transport
}

const maxReasonLength = 300

/** @throws AlgodError */
export async function exchange(
  node: PoolNode,
  { path, contentType, once = false, ...request }: PoolRequest,
  { transport, ...limits }: ExchangeOptions,
): Promise<NodeResponse> {
  const headers = contentType === undefined ? node.headers : { ...node.headers, 'Content-Type': contentType }
  const where = { server: node.server, path: node.basePath + path, headers }
  try {
    const response = await transport.send({ ...request, ...where, ...limits, repeatsStale: !once })
    return checkStatus(node, response.status, response.text())
  } catch (error) {
    throw error instanceof TransportError ? explain(error, node, limits.timeoutMs) : error
  }
}

/** Only 200, 404 and a 400 in the format of a node answer the request. Others come from a proxy or a faulty node. */
function checkStatus({ address }: PoolNode, status: number, text: string): NodeResponse {
  const response = new NodeResponse(address, status, text)
  if (status === 200 || status === 404 || (status === 400 && response.reason() !== undefined)) return response
  if (status === 401 || status === 403) {
    const message = `the node at ${address} does not accept the token (status ${status})`
    throw new AlgodError('refused_token', message, { status, mayHaveArrived: false })
  }
  // Browsers report the status of a redirect as 0.
  if (status < 200 || (status >= 300 && status < 400)) {
    const message = `the node at ${address} returned status ${status}, a redirect, which is not followed`
    throw new AlgodError('redirected', message, { status })
  }
  const reason = response.reason()?.slice(0, maxReasonLength) ?? ''
  const message = `the node at ${address} returned status ${status}${reason === '' ? '' : `: ${reason}`}`
  throw new AlgodError('unexpected_status', message, { status, mayHaveArrived: status >= 500 })
}

function explain(error: TransportError, { address }: PoolNode, timeoutMs: number): AlgodError {
  const { code, systemCode, cause, mayHaveArrived } = error
  if (code === 'timeout') {
    return new AlgodError('timeout', `the node at ${address} did not respond within ${timeoutMs} ms`, {
      cause,
      mayHaveArrived,
    })
  }
  if (code === 'too_large') {
    return new AlgodError('too_large', `the node at ${address} sent a response that is too long`, { cause })
  }
  const detail = systemCode === undefined ? '' : ` (${systemCode})`
  const message = `the node at ${address} cannot be reached${detail}`
  return new AlgodError('unreachable', message, { cause, mayHaveArrived })
}

/** A response that is too long or missing depends on the request. */
export function isFaultOfNode({ code }: AlgodError): boolean {
  return code !== 'too_large' && code !== 'not_found' && code !== 'rejected'
}
