/** A client that can leave in the middle of a response, over HTTP/1.1 and HTTP/2. */
import { request as startHttp } from 'node:http'
import { connect, constants } from 'node:http2'
import type { PlainShop } from './plainShops.test.helper.js'

export type CutRequest = {
  readonly method: string
  readonly headers: { readonly [name: string]: string }
  /** Leaves once it has received this many bytes of the body. */
  readonly cutAfterBytes?: number | undefined
}

export type CutAnswer = {
  readonly status: number
  readonly body: string
  /** Whether the response ended as the protocol requires. */
  readonly isWhole: boolean
}

export function sendTo(protocol: PlainShop['protocol'], url: string, request: CutRequest): Promise<CutAnswer> {
  return protocol === 'HTTP/2' ? overHttp2(url, request) : overHttp1(url, request)
}

function overHttp1(url: string, { method, headers, cutAfterBytes = Number.POSITIVE_INFINITY }: CutRequest) {
  return new Promise<CutAnswer>((resolve) => {
    const request = startHttp(url, { method, headers, agent: false })
    let [status, body] = [0, '']
    const finish = (isWhole: boolean): void => {
      resolve({ status, body, isWhole })
      request.destroy()
    }
    request.on('error', () => finish(false))
    request.on('close', () => finish(false))
    request.on('response', (response) => {
      status = response.statusCode ?? 0
      if (cutAfterBytes === 0) return finish(false)
      response.setEncoding('latin1')
      response.on('data', (chunk: string) => {
        body += chunk
        if (body.length >= cutAfterBytes) finish(false)
      })
      response.on('end', () => finish(response.complete))
      response.on('error', () => finish(false))
      return undefined
    })
    request.end()
  })
}

function overHttp2(url: string, { method, headers, cutAfterBytes = Number.POSITIVE_INFINITY }: CutRequest) {
  return new Promise<CutAnswer>((resolve) => {
    const { origin, pathname, search } = new URL(url)
    const session = connect(origin)
    let [status, body] = [0, '']
    const finish = (isWhole: boolean): void => {
      resolve({ status, body, isWhole })
      session.destroy()
    }
    session.on('error', () => finish(false))
    session.on('close', () => finish(false))
    const stream = session.request({ ...headers, ':method': method, ':path': `${pathname}${search}` })
    const cut = (): void => {
      stream.close(constants.NGHTTP2_CANCEL)
      finish(false)
    }
    stream.on('error', () => finish(false))
    stream.on('response', (received) => {
      status = Number(received[':status'])
      if (cutAfterBytes === 0) cut()
    })
    stream.setEncoding('latin1')
    stream.on('data', (chunk: string) => {
      body += chunk
      if (body.length >= cutAfterBytes) cut()
    })
    stream.on('close', () => finish(stream.rstCode === constants.NGHTTP2_NO_ERROR && status !== 0))
    stream.end()
  })
}
