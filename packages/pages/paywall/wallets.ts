/** Connects the chosen wallet with the code loaded for it, and translates its errors. */
import type { Connector, ConnectorFailure, ConnectorFailureCode } from './connectors/Connector.js'
import { promptForPassword } from './dialog.js'
import { PaymentError } from './messages.js'
import { type LocalDaemon, type Offer, pageUrl, type WalletOption, walletName } from './pageData.js'
import type { TransactionParameters, UnsignedPayment } from './payment.js'

export type ConnectedWallet = {
  /** The wallet within a sentence. */
  readonly name: string
  /** At least one. */
  readonly addresses: readonly string[]
  readonly sign: (payment: UnsignedPayment, payer: string) => Promise<readonly (Uint8Array | null | undefined)[]>
}

export type ConnectOptions = {
  readonly option: WalletOption
  readonly offer: Offer
  readonly parameters: Promise<TransactionParameters>
  readonly siteName: string
  readonly kmd: LocalDaemon | undefined
  /** Asks for a click, which allows the wallet to open a window. */
  readonly waitForClick: (label: string) => Promise<void>
  /** Aborted when the person cancels, after which the wallet gets no more requests. */
  readonly signal: AbortSignal
}

/** Throws a PaymentError if the wallet cannot be connected. */
export async function connect(options: ConnectOptions): Promise<ConnectedWallet> {
  const { option, siteName, kmd, waitForClick, signal } = options
  const { wallet, label, file } = option
  const [connector, { genesisId, genesisHash }] = await Promise.all([loadConnector(file, label), options.parameters])
  const allowWindow = async (): Promise<void> => {
    // If loading took too long, the click no longer counts, and the window would be blocked.
    if (connector.opensWindow?.() === true && navigator.userActivation?.isActive === false) await waitForClick(label)
  }
  try {
    signal.throwIfAborted()
    await allowWindow()
    const connection = await connector.connect({
      siteName: siteName || location.host,
      network: { genesisId, genesisHash },
      ...(wallet === 'kmd' ? { kmd: { ...kmd!, promptForPassword } } : {}),
    })
    // Extensions may return arbitrary values.
    const addresses = [...new Set(connection.addresses)].filter((address) => /^[A-Z2-7]{58}$/.test(address))
    if (addresses.length === 0) throw new PaymentError('no_accounts')
    return {
      name: walletName(option),
      addresses,
      sign: async ({ transactions, paymentIndex }, payer) => {
        try {
          await allowWindow()
          return await connection.sign({ transactions, index: paymentIndex, signer: payer })
        } catch (error) {
          throw toPaymentError(error, options)
        }
      },
    }
  } catch (error) {
    throw toPaymentError(error, options)
  }
}

/** Wallets share no error codes. Without a code, only the text can be used. */
function toPaymentError(error: unknown, { option: { label }, offer, kmd }: ConnectOptions): Error {
  if (error instanceof PaymentError) return error
  const { connectorCode, detail = '' } = (error ?? {}) as Partial<ConnectorFailure>
  if (connectorCode !== undefined) {
    const details: { readonly [code in ConnectorFailureCode]?: string } = {
      wallet_not_installed: label,
      wrong_network: offer.network.name,
      daemon_unreachable: kmd?.url ?? '',
    }
    return new PaymentError(connectorCode, details[connectorCode] ?? detail.slice(0, 300))
  }
  const { code, message = '', data } = (error ?? {}) as { code?: number; message?: string; data?: { type?: string } }
  const text = `${message} ${data?.type ?? ''}`
  if (/^no accounts found/i.test(message)) return new PaymentError('no_accounts')
  if (/network[ _]mismatch|genesis|wrong network/i.test(text))
    return new PaymentError('wrong_network', offer.network.name)
  if (/not available|not installed|no provider|undefined|timed? ?out/i.test(text)) {
    return new PaymentError('wallet_not_installed', label)
  }
  if (code === 4001 || code === 4100 || /cancel|reject|decline|denied|closed/i.test(text))
    return new PaymentError('declined')
  return new PaymentError('wallet_failed', message.slice(0, 300))
}

/** A browser may cache a failed module, so the next attempt uses another address. */
const failures = new Map<string, number>()

/**
 * Loads the code of a wallet from the seller. Nothing is signed yet, so a failure here never costs anything.
 *
 * @throws PaymentError with the code `page_outdated` or `wallet_not_loaded`.
 */
async function loadConnector(file: string, label: string): Promise<Connector> {
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
