/** Pera and Defly: phone apps that are paired by a QR code. Their libraries have the same methods. */
import type { Connection, ConnectorOptions, TransactionGroup } from './Connector.js'
import type { EncodedTransaction } from './encodedTransaction.js'

/** The chain ids of both wallets; other networks have none. */
const chainIds: { readonly [genesisId: string]: number } = {
  'mainnet-v1.0': 416001,
  'testnet-v1.0': 416002,
  'betanet-v1.0': 416003,
}

type SignerTransaction = { txn: EncodedTransaction; signers: string[] }

type Client = {
  connect: () => Promise<string[]>
  reconnectSession: () => Promise<string[]>
  /** Both libraries mark the transactions that are not for `signer` only if it is given. */
  signTransaction: (groups: SignerTransaction[][], signer: string) => Promise<Uint8Array[]>
}

export type ClientOptions = { chainId?: never }

/** The key under which the WalletConnect library stores the origin's only pairing, shared by all wallets. */
const pairingKey = 'walletconnect'
const pairedWalletKey = 'x402-paired-wallet'
let hasConnected = false

/** @param name the name that the wallet gives itself */
export async function connectWith(
  name: 'Pera' | 'Defly',
  create: (options: ClientOptions) => unknown,
  { network }: ConnectorOptions,
): Promise<Connection> {
  const chainId = chainIds[network.genesisId]
  // Choosing the wallet again makes a new pairing, because the phone of the old one may be unavailable.
  if (hasConnected || !isPairedWith(name)) localStorage.removeItem(pairingKey)
  const client = create((chainId === undefined ? {} : { chainId }) as ClientOptions) as Client
  const known = hasConnected ? [] : await client.reconnectSession().catch(() => [])
  const addresses = known.length > 0 ? known : await client.connect()
  hasConnected = true
  localStorage.setItem(pairedWalletKey, name)
  return { addresses, sign: (group) => client.signTransaction([signerTransactions(group)], group.signer) }
}

/** Whether the stored pairing is with this wallet. Both libraries use the same key. */
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

function signerTransactions({ transactions, index, signer }: TransactionGroup): SignerTransaction[] {
  return transactions.map((bytes, at) => ({ txn: { bytes }, signers: at === index ? [signer] : [] }))
}
