/** The session token: issued for the ticket in the link, stored for this tab only. */
import * as Fields from './fields.js'
import { request } from './request.js'

const storageKey = 'latchkey.session'

/** Removes the ticket from the address bar before any other code can read it. Routes start with a slash, tickets do not. */
export function takeTicket(): string | undefined {
  const fragment = location.hash.slice(1)
  if (fragment === '' || fragment.startsWith('/')) return undefined
  history.replaceState(null, '', location.pathname)
  return fragment
}

/** Exchanges a ticket, which works once, for a session token, and stores the token. */
export async function open(ticket: string): Promise<string> {
  const path = '/latchkey/v1/console/session'
  const response = await request({ method: 'POST', path, body: { ticket }, token: undefined })
  const token = Fields.string(response, 'session_token')
  sessionStorage.setItem(storageKey, token)
  return token
}

export function storedToken(): string | undefined {
  return sessionStorage.getItem(storageKey) ?? undefined
}

export function clearToken(): void {
  sessionStorage.removeItem(storageKey)
}
