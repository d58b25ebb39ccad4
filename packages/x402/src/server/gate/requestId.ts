/** The id of a request to a gate, which correlates the logs of the seller and of its facilitators. */
import { newId } from './newId.js'

/** The form that servers of `@latchkey/http` accept: no characters that affect a log, and too short for a secret. */
const plain = /^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$/
const created = new WeakMap<Request, string>()

/** The request's `X-Request-Id`, from a proxy or the seller's server, if it is plain; otherwise a new id. */
export function requestIdOf(request: Request): string {
  const sent = request.headers.get('X-Request-Id')
  if (sent !== null && plain.test(sent)) return sent
  const known = created.get(request)
  if (known !== undefined) return known
  const id = newId().slice(0, 16)
  created.set(request, id)
  return id
}
