/** Loads the code of a wallet from the seller. Nothing is signed yet, so a failure here never costs anything. */
import type { Connector } from './connectors/Connector.js'
import { PaymentError } from './messages.js'
import { pageUrl } from './pageData.js'

/** A browser may cache a failed module, so the next attempt uses another address. */
const failures = new Map<string, number>()

/** @throws PaymentError with the code `page_outdated` or `wallet_not_loaded`. */
export async function loadConnector(file: string, label: string): Promise<Connector> {
  const failed = failures.get(file) ?? 0
  const url = new URL(pageUrl)
  url.hash = ''
  url.search = `?x402-page=${encodeURIComponent(file)}${failed === 0 ? '' : `&retry=${failed}`}`
  try {
    return (await import(/* @vite-ignore */ url.href)) as Connector
  } catch {
    failures.set(file, failed + 1)
    throw new PaymentError((await isMissing(url)) ? 'page_outdated' : 'wallet_not_loaded', label)
  }
}

/** Whether the seller responds but does not have the file, because it was updated after the page was opened. */
async function isMissing(url: URL): Promise<boolean> {
  const response = await fetch(url, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined)
  if (response === undefined || response.status >= 500) return false
  return !response.ok || !/javascript/.test(response.headers.get('content-type') ?? '')
}
