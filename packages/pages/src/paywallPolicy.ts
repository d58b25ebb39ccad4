/** The content security policy of the paywall. */
import type { PaywallOptions, WalletOption } from './paywallOptions.js'

const peraOrigin = 'https://web.perawallet.app'

/** Allows scripts from the page's own file only. The other origins depend on the offered wallets. */
export function paywallPolicy(offered: readonly WalletOption[], { logo, kmd }: PaywallOptions): string {
  const has = (...wallets: WalletOption['wallet'][]): boolean => offered.some(({ wallet }) => wallets.includes(wallet))
  const connect = [
    "'self'",
    // Both wallets fetch a list of bridge servers, so their hosts are not known in advance. Their images are data:
    // URLs.
    ...(has('pera', 'defly') ? ['https:', 'wss:', 'data:'] : []),
    ...(has('kmd') ? [new URL(kmd!.url).origin] : []),
  ]
  const images = ["'self'", 'data:', 'blob:', ...(logo?.startsWith('https:') ? [new URL(logo).origin] : [])]
  return [
    "default-src 'none'",
    "script-src 'self'",
    // The dialogs of Pera and Defly, and paid pages, contain inline styles.
    "style-src 'self' 'unsafe-inline'",
    `img-src ${images.join(' ')}`,
    `connect-src ${connect.join(' ')}`,
    ...(has('pera') ? [`frame-src ${peraOrigin}`] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
