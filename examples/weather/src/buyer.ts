/** Buys a weather report: `AVM_MNEMONIC="25 words" node dist/buyer.js` */
import { readFile } from 'node:fs/promises'
import { Buyer, fromKmd, payingFetch, receiptOf, Signer } from '@latchkey/x402/client'
import { openChain } from './network.js'

const { RESOURCE_SERVER_URL: server = 'http://localhost:4021', ENDPOINT_PATH: path = '/weather' } = process.env

/** The mnemonic in AVM_MNEMONIC, or a key in the key daemon: KMD_DATA_DIR, KMD_WALLET, KMD_KEY, KMD_PASSWORD_FILE. */
function openSigner(): Signer.Signer {
  const { AVM_MNEMONIC: words = '', KMD_DATA_DIR: dataDir, KMD_WALLET: wallet } = process.env
  const address = process.env['KMD_KEY'] ?? process.env['AVM_ADDRESS']
  if (words !== '') return Signer.fromMnemonic(words)
  if (dataDir !== undefined && wallet !== undefined && address !== undefined) {
    return fromKmd({ kmd: { dataDir }, wallet, address, password: readPassword })
  }
  throw new Error('AVM_MNEMONIC (the 25 words of the paying account) must be set in the environment')
}

async function readPassword(): Promise<string> {
  const { KMD_PASSWORD_FILE: file } = process.env
  return file === undefined ? '' : (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
}

async function buy(): Promise<void> {
  const buyer = new Buyer({ signer: openSigner(), chains: await openChain(), maxPerPayment: '$0.10' })
  console.log(`AVM signer: ${buyer.address}`)
  console.log(`Making request to: ${server}${path}`)
  const response = await payingFetch(buyer)(server + path)
  console.log('Response body:', await response.text())
  const receipt = receiptOf(response)
  if (receipt?.success) console.log('Payment response:', receipt)
  else console.log(`No payment settled (response status: ${response.status})`)
  process.exitCode = response.ok ? 0 : 1
}

try {
  await buy()
} catch (error) {
  console.error(`❌ ${(error as Error).message}`)
  process.exitCode = 1
}
