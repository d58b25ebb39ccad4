/**
 * A `Response` whose text the host already has. A real one, with its stream, is built only if something reads it.
 * Building and reading one takes longer than many handlers.
 */
import type { RawResponse } from './Message.js'

let canBeLight: boolean | undefined

/**
 * As with a light request, Node's own `Response` stores its state under symbols on Node 20 and 22. Elsewhere a real one
 * is used.
 */
function prepare(): boolean {
  const symbols = Object.getOwnPropertySymbols(new Response())
  LightResponse.inherit(symbols)
  return symbols.some(({ description }) => description === 'state')
}

/** Creates a text response. Its headers have lower-case names. */
export function textResponse(status: number, headers: readonly string[], body: string): Response {
  canBeLight ??= prepare()
  const raw = { status, headers: [...headers], body }
  return canBeLight ? (new LightResponse(raw) as unknown as Response) : toRealResponse(raw)
}

/**
 * Returns the parts of a light response, or undefined for any other response, and for one that was read or may have
 * changed.
 */
export function unreadResponse(response: Response): RawResponse | undefined {
  return canBeLight === true && response instanceof LightResponse ? response.unread : undefined
}

function toRealResponse({ status, headers, body }: RawResponse): Response {
  const pairs: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i]!, headers[i + 1]!])
  return new Response(body, { status, headers: pairs })
}

class LightResponse {
  readonly #raw: RawResponse
  #real: Response | undefined

  /** Every member of `Response` reads its state through these. */
  static inherit(stateSymbols: readonly symbol[]): void {
    Object.setPrototypeOf(LightResponse.prototype, Response.prototype)
    for (const symbol of stateSymbols) {
      Object.defineProperty(LightResponse.prototype, symbol, {
        get(this: LightResponse) {
          this.#real ??= toRealResponse(this.#raw)
          return Reflect.get(this.#real, symbol)
        },
      })
    }
  }

  constructor(raw: RawResponse) {
    this.#raw = raw
  }

  get unread(): RawResponse | undefined {
    return this.#real === undefined ? this.#raw : undefined
  }
}
