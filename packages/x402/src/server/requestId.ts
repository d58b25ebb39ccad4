/** The id of a request to a gate, by which logs of the seller and of its facilitators are brought together. */
import { newId } from './newId.js'

/** As servers of `@latchkey/http` take them: nothing that a log obeys, and too short for a secret. */
const plain = /^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$/
const created = new WeakMap<Request, string>()

/** The `X-Request-Id` that the request came with, from a proxy or the server of the seller, if it is plain; or a new one. */
export function requestIdOf(request: Request): string {
  const sent = request.headers.get('X-Request-Id')
  if (sent !== null && plain.test(sent)) return sent
  const known = created.get(request)
  if (known !== undefined) return known
  const id = newId().slice(0, 16)
  created.set(request, id)
  return id
}
