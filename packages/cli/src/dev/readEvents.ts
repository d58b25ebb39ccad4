/** Reads the server-sent events of a dev stack. */
import { Json } from '@latchkey/algorand'
import { CommandError } from '../errors.js'

const connectMs = 10_000
/** Longer than any event of a seller. */
const maxEventLength = 256 * 1024

/** Yields the events until the connection ends. @throws CommandError `server_unreachable` */
export async function* readEvents(url: string, onOpen: () => void): AsyncGenerator<Json.Members> {
  const response = await open(url)
  onOpen()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const bytes of response.body!) {
      rest += decoder.decode(bytes, { stream: true })
      if (rest.length > maxEventLength) throw new CommandError('server_unreachable', 'an event is too long')
      const parts = rest.split('\n\n')
      rest = parts.pop()!
      for (const part of parts) yield* eventOf(part)
    }
  } catch (error) {
    if (error instanceof CommandError) throw error
    // The connection was closed.
  }
}

async function open(url: string): Promise<Response> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), connectMs)
  const hint = 'start a dev stack with latchkey dev, or name its seller with --seller'
  try {
    const response = await fetch(url, { redirect: 'manual', signal: abort.signal })
    const type = response.headers.get('content-type') ?? ''
    if (response.ok && type.startsWith('text/event-stream') && response.body !== null) return response
    throw new CommandError('server_unreachable', `${url} is not the event stream of a dev stack`, { hint })
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError('server_unreachable', `no dev stack responds at ${url}`, { hint, cause })
  } finally {
    clearTimeout(timer)
  }
}

function eventOf(part: string): Json.Members[] {
  const data = part.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []))
  const event = data.length === 0 ? undefined : Json.parseObject(data.join('\n'))
  return event === undefined ? [] : [event]
}
