/** The session token: issued for the ticket in the link, stored for this tab only. */
import { consoleOperations } from '@latchkey/kmd-api/operations'
import { call } from './daemon.js'

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
  const { sessionToken } = await call(consoleOperations.OpenConsole, { ticket }, {})
  sessionStorage.setItem(storageKey, sessionToken)
  return sessionToken
}

export function storedToken(): string | undefined {
  return sessionStorage.getItem(storageKey) ?? undefined
}

export function clearToken(): void {
  sessionStorage.removeItem(storageKey)
}
