/** Buys a weather report: `AVM_MNEMONIC="25 words" node dist/buyer.js` */
import { readFile } from 'node:fs/promises'
import { Buyer, fromKmd, type PaymentResult, payingFetch, paymentOf, Signer } from '@latchkey/x402/client'
import { openChain } from './network.js'

const { RESOURCE_SERVER_URL: server = 'http://127.0.0.1:4021', ENDPOINT_PATH: path = '/weather' } = process.env

/** The mnemonic in AVM_MNEMONIC, or a key in the key daemon: KMD_DATA_DIR, KMD_WALLET, KMD_KEY, KMD_PASSWORD_FILE. */
function openSigner(): Signer.Signer {
  const { AVM_MNEMONIC: words = '', KMD_DATA_DIR: dataDir, KMD_WALLET: wallet } = process.env
  const address = process.env['KMD_KEY'] ?? process.env['AVM_ADDRESS']
  if (words !== '') return Signer.fromMnemonic(words)
  if (dataDir !== undefined && wallet !== undefined && address !== undefined) {
    return fromKmd({ kmd: { dataDir }, wallet, address, password: readPassword })
  }
  throw new Error('set AVM_MNEMONIC to the 25-word mnemonic of the paying account')
}

async function readPassword(): Promise<string> {
  const { KMD_PASSWORD_FILE: file } = process.env
  return file === undefined ? '' : (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
}

/** A seller's text must not control the terminal. */
const printable = (text: string): string => text.replace(/(?!\n)\p{C}/gu, '?')

/** Reads the ledger, because the receipt in the response is only the seller's claim. */
function report({ payment, state }: PaymentResult): void {
  const { transactionId: transaction, network } = payment
  if (state === 'settled') console.log('Payment response:', { success: true, transaction, network })
  else console.log(`Payment ${transaction}: ${state === 'open' ? 'may still be settled' : 'not settled'}`)
}

async function buy(): Promise<void> {
  const buyer = new Buyer({ signer: openSigner(), chains: await openChain(), maxPerPayment: '$0.10' })
  console.log(`AVM signer: ${buyer.address}`)
  console.log(`Making request to: ${server}${path}`)
  const response = await payingFetch(buyer)(server + path)
  console.log('Response body:', printable(await response.text()))
  const paid = paymentOf(response)
  if (paid === undefined) console.log(`No payment settled (response status: ${response.status})`)
  else report(paid)
  process.exitCode = response.ok ? 0 : 1
}

try {
  await buy()
} catch (error) {
  console.error(`❌ ${printable((error as Error).message)}`)
  process.exitCode = 1
}
