/** Connects wallets through use-wallet, which has a connector for each of them. */
import { type BaseWallet, type WalletId as UseWalletId, WalletManager } from '@txnlab/use-wallet'
import algosdk from 'algosdk'
import { promptForPassword } from './dialog.js'
import { PaymentError } from './messages.js'
import type { LocalDaemon, Offer, WalletId } from './pageData.js'
import type { TransactionParameters, UnsignedPayment } from './payment.js'

export type ConnectedWallet = {
  readonly wallet: WalletId
  readonly label: string
  readonly accounts: readonly { readonly name: string; readonly address: string }[]
  readonly sign: (payment: UnsignedPayment, payer: string) => Promise<readonly (Uint8Array | null)[]>
}

export type ConnectOptions = {
  readonly wallet: WalletId
  readonly label: string
  readonly offer: Offer
  readonly parameters: TransactionParameters
  readonly siteName: string
  readonly kmd: LocalDaemon | undefined
}

/** Above use-wallet's highest log level: it logs a declined request as an error. */
const silentLogLevel = 4

/** Throws a PaymentError if the wallet cannot be connected. */
export async function connect(connectOptions: ConnectOptions): Promise<ConnectedWallet> {
  const { wallet, label, kmd } = connectOptions
  const options = wallet === 'kmd' ? await daemonOptions(kmd!) : optionsFor(connectOptions)
  const client = clientFor(connectOptions, options)
  try {
    // A wallet that was connected before is resumed; a daemon needs its password every time.
    if (client.isConnected && wallet !== 'kmd') await client.resumeSession()
    if (!client.isConnected || wallet === 'kmd') await client.connect()
    if (client.accounts.length === 0) throw new PaymentError('no_accounts')
  } catch (error) {
    throw toPaymentError(error, connectOptions)
  }
  return {
    wallet,
    label,
    accounts: client.accounts,
    sign: async ({ transactions, paymentIndex }, payer) => {
      client.setActiveAccount(payer)
      try {
        return await client.signTransactions([...transactions], [paymentIndex])
      } catch (error) {
        throw toPaymentError(error, connectOptions)
      }
    },
  }
}

/** The chain ids of Pera and Defly. */
const chainIds: { readonly [genesisId: string]: number } = {
  'mainnet-v1.0': 416001,
  'testnet-v1.0': 416002,
  'betanet-v1.0': 416003,
}

function optionsFor({ siteName, parameters }: ConnectOptions): object {
  const chainId = chainIds[parameters.genesisId]
  return { siteName: siteName || location.host, ...(chainId === undefined ? {} : { chainId }) }
}

function clientFor({ wallet, offer, parameters }: ConnectOptions, options: object): BaseWallet {
  const network = 'paid'
  const manager = new WalletManager({
    wallets: [{ id: wallet as UseWalletId, options } as never],
    defaultNetwork: network,
    networks: {
      [network]: {
        // Never used: all parameters come from the seller.
        algod: { token: '', baseServer: location.origin },
        isTestnet: !offer.network.isReal,
        genesisId: parameters.genesisId,
        genesisHash: parameters.genesisHash,
        caipChainId: parameters.caip2,
      },
    },
    options: { resetNetwork: true, logLevel: silentLogLevel as never },
  })
  return manager.getWallet(wallet as UseWalletId)!
}

/** Asks for the wallet and its password in a dialog of the page, before the daemon is connected. */
async function daemonOptions({ url, token, wallet }: LocalDaemon): Promise<object> {
  const { protocol, hostname, port } = new URL(url)
  const baseServer = `${protocol}//${hostname}`
  const names = wallet === undefined ? await walletNames({ url, token }) : [wallet]
  const entered = await promptForPassword(names)
  return { token, baseServer, port, wallet: entered.wallet, promptForPassword: async () => entered.password }
}

async function walletNames({ url, token }: LocalDaemon): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url)
  try {
    const { wallets } = await new algosdk.Kmd(token, `${protocol}//${hostname}`, port).listWallets()
    const names = (wallets as { name: string }[] | undefined)?.map(({ name }) => name) ?? []
    if (names.length === 0) throw new PaymentError('wallet_not_found')
    return names
  } catch (error) {
    throw toDaemonError(error, url)
  }
}

/** Wallets have no error codes in common: where there is no code, the text is all there is to go by. */
function toPaymentError(error: unknown, { wallet, label, offer, kmd }: ConnectOptions): Error {
  if (error instanceof PaymentError) return error
  if (/^no accounts found/i.test((error as Error | undefined)?.message ?? '')) return new PaymentError('no_accounts')
  if (wallet === 'kmd') return toDaemonError(error, kmd!.url)
  const { code, message = '', data } = (error ?? {}) as { code?: number; message?: string; data?: { type?: string } }
  const text = `${message} ${data?.type ?? ''}`
  if (/network[ _]mismatch|genesis|wrong network/i.test(text))
    return new PaymentError('wrong_network', offer.network.name)
  if (/not available|not installed|no provider|undefined|timed? ?out/i.test(text)) {
    return new PaymentError('wallet_not_installed', label)
  }
  if (code === 4001 || code === 4100 || /cancel|reject|decline|denied|closed/i.test(text))
    return new PaymentError('declined')
  return new PaymentError('wallet_failed', message.slice(0, 300))
}

/** use-wallet reports the daemon's errors through algosdk: an HTTP status and a text. */
function toDaemonError(error: unknown, url: string): Error {
  if (error instanceof PaymentError) return error
  const { response, message = '' } = (error ?? {}) as { response?: { status?: number }; message?: string }
  if (response?.status === 429) return new PaymentError('too_many_attempts')
  if (/password/i.test(message)) return new PaymentError('wrong_password')
  if (response?.status === 401) return new PaymentError('daemon_token_rejected')
  const [, missing] = /Wallet "(.*)" not found/.exec(message) ?? []
  if (missing !== undefined) return new PaymentError('wallet_not_found', missing)
  if (response === undefined && /fetch|network/i.test(message)) return new PaymentError('daemon_unreachable', url)
  // The daemon's own message follows the status.
  return new PaymentError('wallet_failed', message.replace(/^.*Received status [^:]*: /, '').slice(0, 300))
}
