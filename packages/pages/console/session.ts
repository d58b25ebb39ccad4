/** The session: begun by the ticket in the link, kept for this tab only. */
import * as Wire from './wire.js'

const place = 'latchkey.session'

/** Takes the ticket out of the address bar, before anything else can see it. A view's address begins with a slash. */
export function takeTicket(): string | undefined {
  const fragment = location.hash.slice(1)
  if (fragment === '' || fragment.startsWith('/')) return undefined
  history.replaceState(null, '', location.pathname)
  return fragment
}

/** A ticket works once; the token it buys is kept until the tab or the session ends. */
export async function open(ticket: string): Promise<string> {
  const answer = await Wire.call({
    method: 'POST',
    path: '/latchkey/v1/console/session',
    body: { ticket },
    token: undefined,
  })
  const token = Wire.text(answer, 'session_token')
  sessionStorage.setItem(place, token)
  return token
}

export function kept(): string | undefined {
  return sessionStorage.getItem(place) ?? undefined
}

export function forget(): void {
  sessionStorage.removeItem(place)
}
