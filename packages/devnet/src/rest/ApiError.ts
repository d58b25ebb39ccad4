import { LatchkeyError } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import { json, type Value } from './HttpResponse.js'

/**
 * A request that gets an error response. This error never leaves the package. `hint` is for people and tools; clients
 * match on the message.
 */
export class ApiError extends LatchkeyError<'request_rejected'> {
  override name = 'ApiError'
  readonly status: number
  readonly #headers: readonly string[]
  readonly #data: { readonly [name: string]: Value | undefined } | undefined
  #response: RawResponse | undefined

  /** @param data is sent with the hint, such as the place where a program failed. */
  constructor(
    status: number,
    message: string,
    hint?: string,
    headers: readonly string[] = [],
    data?: { readonly [name: string]: Value | undefined },
  ) {
    super('request_rejected', message, { hint })
    this.status = status
    this.#headers = headers
    this.#data = data
  }

  /** Returns the same response each time. */
  toResponse(): RawResponse {
    this.#response ??= this.#newResponse()
    return this.#response
  }

  #newResponse(): RawResponse {
    const hasData = this.hint !== undefined || this.#data !== undefined
    const data = hasData ? { ...this.#data, hint: this.hint } : undefined
    const response = json({ data, message: this.message }, this.status)
    return { ...response, headers: [...response.headers, ...this.#headers] }
  }
}
