/** The current view, kept in the URL fragment so that the browser's history and bookmarks work. */
import { Address } from '@latchkey/algorand'
import { useEffect, useState } from 'preact/hooks'

export type Route =
  | { view: 'overview' }
  | { view: 'wallets'; walletId: string | undefined; address?: string | undefined }
  | { view: MoneyViewName; address: string | undefined; assetId: string | undefined }
  | { view: 'sign' }
  | { view: 'payments'; transactionId?: string | undefined }
  | { view: 'addresses'; address?: string | undefined }
  | { view: 'settings' }
  | { view: 'spending'; agentId?: string | undefined }
  | { view: 'agents'; agentId?: string | undefined }
  | { view: 'new-agent' }
  | { view: 'approvals' }
  | { view: 'activity'; agentId?: string | undefined }

/** The views that start from an account, and optionally from one of its assets. */
export type MoneyViewName = 'send' | 'receive' | 'opt-in'

export function parse(hash: string): Route {
  const [view, encoded = '', more = ''] = hash.replace(/^#\/?/, '').split('/', 3)
  const rest = decode(encoded)
  if (view === 'send' || view === 'receive' || view === 'opt-in') {
    const address = rest !== undefined && Address.isValid(rest) ? rest : undefined
    return { view, address, assetId: /^\d{1,20}$/.test(more) ? more : undefined }
  }
  if (view === 'sign' || view === 'settings' || view === 'new-agent' || view === 'approvals') return { view }
  // The name of the view in earlier versions, which bookmarks may have.
  if (view === 'health') return { view: 'settings' }
  if (view === 'agents' || view === 'activity' || view === 'spending') return { view, agentId: rest }
  if (view === 'payments') return { view, transactionId: rest }
  if (view === 'addresses') return { view, address: rest }
  return view === 'wallets' ? { view, walletId: rest, address: decode(more) } : { view: 'overview' }
}

export function hrefOf(route: Route): string {
  if (route.view === 'send' || route.view === 'receive' || route.view === 'opt-in') {
    return `#/${[route.view, route.address, route.assetId].filter((part) => part !== undefined).join('/')}`
  }
  if (route.view === 'wallets') {
    const parts = [route.walletId, route.address].filter((part) => part !== undefined)
    return ['#/wallets', ...parts.map(encodeURIComponent)].join('/')
  }
  const rest = detailOf(route)
  return rest === undefined ? `#/${route.view}` : `#/${route.view}/${encodeURIComponent(rest)}`
}

function detailOf(route: Route): string | undefined {
  if (route.view === 'payments') return route.transactionId
  if (route.view === 'agents' || route.view === 'activity' || route.view === 'spending') return route.agentId
  return route.view === 'addresses' ? route.address : undefined
}

/** People edit and share addresses, so a malformed one leads to the view without the detail. */
function decode(text: string): string | undefined {
  try {
    return text === '' ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
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
