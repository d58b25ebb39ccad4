/** The current view, kept in the URL fragment so that the browser's history and bookmarks work. */
import { useEffect, useState } from 'preact/hooks'

export type Route =
  | { view: 'wallets'; walletId: string | undefined }
  | { view: 'sign' }
  | { view: 'payments' }
  | { view: 'health' }

export function parse(hash: string): Route {
  const [view, rest] = hash.replace(/^#\/?/, '').split('/', 2)
  if (view === 'sign' || view === 'payments' || view === 'health') return { view }
  return { view: 'wallets', walletId: rest === undefined || rest === '' ? undefined : decodeURIComponent(rest) }
}

export function hrefOf(route: Route): string {
  if (route.view !== 'wallets') return `#/${route.view}`
  return route.walletId === undefined ? '#/wallets' : `#/wallets/${encodeURIComponent(route.walletId)}`
}

export function navigate(route: Route): void {
  location.hash = hrefOf(route)
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const onHashChange = (): void => setHash(location.hash)
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [])
  return parse(hash)
}
