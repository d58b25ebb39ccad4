/** The environment with which programs use a stack. */
import { shellWord } from '../format.js'
import { buyerWallet, dollarAssetId, token } from '../stack/stackValues.js'
import type { StackParts } from './StackParts.js'

/** The environment variables with which programs use the stack. */
export function environmentOf(parts: StackParts): { [name: string]: string } {
  const { devnet, kmdUrl, kmdDataDir, goalDir, facilitatorUrl, sellerUrl, seller, buyer } = parts
  const [algod, kmd, indexer] = [new URL(devnet.url), new URL(kmdUrl), new URL(devnet.indexerUrl!)]
  return {
    ALGOD_SERVER: `http://${algod.hostname}`,
    ALGOD_PORT: algod.port,
    ALGOD_TOKEN: token,
    ALGOD_URL: devnet.url,
    ALGORAND_DATA: goalDir,
    INDEXER_SERVER: `http://${indexer.hostname}`,
    INDEXER_PORT: indexer.port,
    INDEXER_TOKEN: token,
    INDEXER_URL: devnet.indexerUrl!,
    KMD_SERVER: `http://${kmd.hostname}`,
    KMD_PORT: kmd.port,
    KMD_TOKEN: token,
    KMD_DATA_DIR: kmdDataDir,
    KMD_WALLET: buyerWallet,
    KMD_KEY: buyer,
    KMD_PASSWORD_FILE: '/dev/null',
    DISPENSER_MNEMONIC: devnet.dispenser.mnemonic,
    FACILITATOR_URL: facilitatorUrl,
    RESOURCE_SERVER_URL: sellerUrl,
    AVM_NETWORK: 'local',
    AVM_ADDRESS: seller,
    USDC_ASSET_ID: dollarAssetId.toString(),
  }
}

/** Export statements for a POSIX shell. */
export function exportLines(environment: { [name: string]: string }): string {
  return Object.entries(environment)
    .map(([name, value]) => `export ${name}=${shellWord(value)}\n`)
    .join('')
}
