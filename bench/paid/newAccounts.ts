import { generateKeyPairSync } from 'node:crypto'
import { Algod } from '@latchkey/algod'
import { Address } from '@latchkey/algorand'
import { dollar } from './setting.js'

/**
 * Returns the secret keys of new, funded devnet accounts. Each buyer has its own account, because two payments that the
 * published packages make for one account in the same millisecond are the same transaction.
 */
export async function newAccounts(url: string, count: number): Promise<string[]> {
  const algod = new Algod({ nodes: [{ url }] })
  const keys: string[] = []
  for (let index = 0; index < count; index++) {
    const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
    const publicKey = Buffer.from(x!, 'base64url')
    const asset = { assetId: BigInt(dollar), amount: 1_000_000_000n }
    await algod.fund({ address: Address.encode(publicKey), microAlgos: 10_000_000n, asset })
    keys.push(Buffer.concat([Buffer.from(d!, 'base64url'), publicKey]).toString('base64'))
  }
  await algod.close()
  return keys
}
