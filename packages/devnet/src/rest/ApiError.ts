import type { RawResponse } from '@latchkey/http'
import { json } from './HttpResponse.js'

/** A request that gets an error response. `hint` is for people and tools; clients match on the message. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly hint: string | undefined
  readonly #headers: readonly string[]

  constructor(status: number, message: string, hint?: string, headers: readonly string[] = []) {
    super(message)
    this.status = status
    this.hint = hint
    this.#headers = headers
  }

  toResponse(): RawResponse {
    const data = this.hint === undefined ? undefined : { hint: this.hint }
    const response = json({ data, message: this.message }, this.status)
    return { ...response, headers: [...response.headers, ...this.#headers] }
  }
}
