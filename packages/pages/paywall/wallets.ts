/** Wallets, through use-wallet: it knows how each of them wants to be spoken to. */
import { type BaseWallet, type WalletId, WalletManager } from '@txnlab/use-wallet'
import algosdk from 'algosdk'
import type { Daemon, Offer, WalletName } from './data.js'
import { askPassword } from './dialog.js'
import { PaywallError } from './messages.js'
import type { Parameters, Unsigned } from './payment.js'

export type Connected = {
  readonly wallet: WalletName
  readonly label: string
  readonly accounts: readonly { readonly name: string; readonly address: string }[]
  readonly sign: (payment: Unsigned, payer: string) => Promise<readonly (Uint8Array | null)[]>
}

export type Connecting = {
  readonly wallet: WalletName
  readonly label: string
  readonly offer: Offer
  readonly parameters: Parameters
  readonly siteName: string
  readonly kmd: Daemon | undefined
}

/** use-wallet tells its console of everything, at the highest level of what people decline; above that it is silent. */
const silent = 4

export async function connect(connecting: Connecting): Promise<Connected> {
  const { wallet, label, kmd } = connecting
  const options = wallet === 'kmd' ? await daemonOptions(kmd!) : optionsFor(connecting)
  const client = clientFor(connecting, options)
  try {
    // One that was connected here before need not be asked again; a daemon's password is asked for in any case.
    if (client.isConnected && wallet !== 'kmd') await client.resumeSession()
    if (!client.isConnected || wallet === 'kmd') await client.connect()
    if (client.accounts.length === 0) throw new PaywallError('no-account')
  } catch (error) {
    throw troubleOf(error, connecting)
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
        throw troubleOf(error, connecting)
      }
    },
  }
}

/** As Pera and Defly number the networks. */
const chainIds: { readonly [genesisId: string]: number } = {
  'mainnet-v1.0': 416001,
  'testnet-v1.0': 416002,
  'betanet-v1.0': 416003,
}

function optionsFor({ siteName, parameters }: Connecting): object {
  const chainId = chainIds[parameters.genesisId]
  return { siteName: siteName || location.host, ...(chainId === undefined ? {} : { chainId }) }
}

function clientFor({ wallet, offer, parameters }: Connecting, options: object): BaseWallet {
  const network = 'paid'
  const manager = new WalletManager({
    wallets: [{ id: wallet as WalletId, options } as never],
    defaultNetwork: network,
    networks: {
      [network]: {
        // Never asked: all that a payment needs came from the seller.
        algod: { token: '', baseServer: location.origin },
        isTestnet: !offer.network.isReal,
        genesisId: parameters.genesisId,
        genesisHash: parameters.genesisHash,
        caipChainId: parameters.caip2,
      },
    },
    options: { resetNetwork: true, logLevel: silent as never },
  })
  return manager.getWallet(wallet as WalletId)!
}

/** Which wallet, and its password, asked for once: in a dialog of the page, before anything is connected. */
async function daemonOptions({ url, token, wallet }: Daemon): Promise<object> {
  const { protocol, hostname, port } = new URL(url)
  const baseServer = `${protocol}//${hostname}`
  const names = wallet === undefined ? await walletNames({ url, token }) : [wallet]
  const chosen = await askPassword(names)
  return { token, baseServer, port, wallet: chosen.wallet, promptForPassword: async () => chosen.password }
}

async function walletNames({ url, token }: Daemon): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url)
  try {
    const { wallets } = await new algosdk.Kmd(token, `${protocol}//${hostname}`, port).listWallets()
    const names = (wallets as { name: string }[] | undefined)?.map(({ name }) => name) ?? []
    if (names.length === 0) throw new PaywallError('no-wallet')
    return names
  } catch (error) {
    throw daemonTrouble(error, url)
  }
}

function troubleOf(error: unknown, { wallet, label, offer, kmd }: Connecting): Error {
  if (error instanceof PaywallError) return error
  if (/^no accounts found/i.test((error as Error | undefined)?.message ?? '')) return new PaywallError('no-account')
  if (wallet === 'kmd') return daemonTrouble(error, kmd!.url)
  const { code, message = '', data } = (error ?? {}) as { code?: number; message?: string; data?: { type?: string } }
  const text = `${message} ${data?.type ?? ''}`
  if (/network[ _]mismatch|genesis|wrong network/i.test(text))
    return new PaywallError('wrong-network', offer.network.name)
  if (/not available|not installed|no provider|undefined|timed? ?out/i.test(text)) {
    return new PaywallError('no-extension', label)
  }
  if (code === 4001 || code === 4100 || /cancel|reject|decline|denied|closed/i.test(text))
    return new PaywallError('declined')
  return new PaywallError('wallet', message.slice(0, 300))
}

function daemonTrouble(error: unknown, url: string): Error {
  if (error instanceof PaywallError) return error
  const { response, message = '' } = (error ?? {}) as { response?: { status?: number }; message?: string }
  if (response?.status === 429) return new PaywallError('locked')
  if (/password/i.test(message)) return new PaywallError('password')
  if (response?.status === 401) return new PaywallError('daemon-token')
  const [, missing] = /Wallet "(.*)" not found/.exec(message) ?? []
  if (missing !== undefined) return new PaywallError('no-wallet', missing)
  if (response === undefined && /fetch|network/i.test(message)) return new PaywallError('daemon-unreachable', url)
  // The daemon's own words come after the status.
  return new PaywallError('wallet', message.replace(/^.*Received status [^:]*: /, '').slice(0, 300))
}
