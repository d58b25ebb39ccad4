import { LatchkeyError } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import { json } from './HttpResponse.js'

/**
 * A request that gets an error response. This error never leaves the package. `hint` is for people and tools; clients
 * match on the message.
 */
export class ApiError extends LatchkeyError<'request_rejected'> {
  override name = 'ApiError'
  readonly status: number
  readonly #headers: readonly string[]
  #response: RawResponse | undefined

  constructor(status: number, message: string, hint?: string, headers: readonly string[] = []) {
    super('request_rejected', message, { hint })
    this.status = status
    this.#headers = headers
  }

  /** Returns the same response each time. */
  toResponse(): RawResponse {
    this.#response ??= this.#newResponse()
    return this.#response
  }

  #newResponse(): RawResponse {
    const data = this.hint === undefined ? undefined : { hint: this.hint }
    const response = json({ data, message: this.message }, this.status)
    return { ...response, headers: [...response.headers, ...this.#headers] }
  }
}
