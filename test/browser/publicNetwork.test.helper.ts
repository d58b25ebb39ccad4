/** Simulates a MainNet node: tests cannot reach the real network and must not spend real money. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Network } from '@latchkey/algorand'

type Scope = { after: (work: () => unknown) => void }

export type PublicNode = { url: string; submitted: Buffer[] }

/** Every account has 5 ALGO; submitted transactions are confirmed in round 50,000,123. */
export async function startPublicNode(t: Scope): Promise<PublicNode> {
  const submitted: Buffer[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url ?? ''
      if (request.method === 'POST' && path === '/v2/transactions') submitted.push(Buffer.concat(chunks))
      const body = respond(path, submitted.length > 0)
      response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body ?? { message: 'not found' }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, submitted }
}

function respond(path: string, isSubmitted: boolean): object | undefined {
  const { genesisHash, genesisId } = Network.mainnet
  const round = { 'last-round': 50_000_123 }
  if (path === '/v2/transactions/params') {
    return { 'genesis-hash': genesisHash, 'genesis-id': genesisId, 'min-fee': 1000, fee: 0, ...round }
  }
  if (path === '/v2/status') return round
  if (path === '/v2/transactions/simulate') return { 'txn-groups': [{}] }
  if (path === '/v2/transactions') return { txId: 'X' }
  if (path.startsWith('/v2/transactions/pending/')) {
    return isSubmitted ? { 'pool-error': '', 'confirmed-round': 50_000_123 } : undefined
  }
  return /^\/v2\/accounts\/[A-Z2-7]{58}(\?.*)?$/.test(path)
    ? { amount: 5_000_000, 'min-balance': 100_000, assets: [], 'total-assets-opted-in': 0 }
    : undefined
}
