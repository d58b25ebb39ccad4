/** Pera and Defly: phone apps that are paired by a QR code. Their libraries have the same methods. */
import { decodeUnsignedTransaction, type Transaction } from 'algosdk'
import type { Connection, ConnectorOptions, TransactionGroup } from './Connector.js'

/** The chain ids of both wallets; other networks have none. */
const chainIds: { readonly [genesisId: string]: number } = {
  'mainnet-v1.0': 416001,
  'testnet-v1.0': 416002,
  'betanet-v1.0': 416003,
}

type Client = {
  connect: () => Promise<string[]>
  reconnectSession: () => Promise<string[]>
  disconnect: () => Promise<unknown>
  signTransaction: (groups: { txn: Transaction; signers?: string[] }[][], signer?: string) => Promise<Uint8Array[]>
}

export type ClientOptions = { chainId?: never }

/** Where the WalletConnect library keeps the one pairing of the origin, whichever wallet it is with. */
const pairingKey = 'walletconnect'
const pairedWalletKey = 'x402-paired-wallet'
let hasConnected = false

/** @param name the name that the wallet gives itself */
export async function connectWith(
  name: 'Pera' | 'Defly',
  create: (options: ClientOptions) => Client,
  { network }: ConnectorOptions,
): Promise<Connection> {
  const chainId = chainIds[network.genesisId]
  // Choosing the wallet a second time makes a new pairing: the phone of the old one may be gone.
  if (hasConnected || !isPairedWith(name)) localStorage.removeItem(pairingKey)
  const client = create((chainId === undefined ? {} : { chainId }) as ClientOptions)
  const known = hasConnected ? [] : await client.reconnectSession().catch(() => [])
  const addresses = known.length > 0 ? known : await client.connect()
  hasConnected = true
  localStorage.setItem(pairedWalletKey, name)
  return { addresses, sign: (group) => client.signTransaction([signerTransactions(group)]) }
}

/** Whether the stored pairing is with this wallet: both libraries use the same key for it. */
function isPairedWith(name: string): boolean {
  const pairedWallet = localStorage.getItem(pairedWalletKey)
  if (pairedWallet !== null) return pairedWallet === name
  try {
    const { peerMeta } = JSON.parse(localStorage.getItem(pairingKey) ?? '{}') as { peerMeta?: { name?: string } }
    return peerMeta?.name?.toLowerCase().includes(name.toLowerCase()) ?? false
  } catch {
    return false
  }
}

function signerTransactions({ transactions, index }: TransactionGroup): { txn: Transaction; signers?: string[] }[] {
  return transactions.map((bytes, at) => {
    const txn = decodeUnsignedTransaction(bytes)
    return at === index ? { txn } : { txn, signers: [] }
  })
}
