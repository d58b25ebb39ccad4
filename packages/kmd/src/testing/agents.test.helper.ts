/** Agents for the API tests, created over the API itself. */
import { Address, Transaction } from '@latchkey/algorand'
import type { TestApp, TestResponse } from './TestApp.test.helper.js'

/** The genesis hash of these tests' network. */
export const genesisHash = Buffer.alloc(32, 7)
export const network = genesisHash.toString('base64')
export const password = 'secret'

export type TestAgent = {
  id: string
  token: string
  walletId: string
  /** A handle of the owner. */
  ownerHandle: string
  /** The key that the agent may use, and one of the same wallet that it may not. */
  address: string
  otherAddress: string
  request: (method: string, path: string, body?: unknown) => Promise<TestResponse>
  post: (path: string, body: unknown) => Promise<TestResponse>
  /** Opens a handle of the agent. */
  handle: () => Promise<string>
}

export type AgentSettings = { name?: string; rules?: object; expiresAtMs?: number }

/** Two Algos a day to any payee, at most 1 Algo each. */
export const rules = {
  networks: [network],
  limits: [
    { per: 'day', network, type: 'amount', asset_id: '0', amount: '2000000' },
    { per: 'payment', network, type: 'amount', amount: '1000000' },
  ],
  payees: { allow_all: true },
}

let count = 0

export async function makeAgent(app: TestApp, settings: AgentSettings = {}): Promise<TestAgent> {
  const { id: walletId, handle: ownerHandle } = await app.unlocked(`wallet ${++count}`, password)
  const generate = async (): Promise<string> =>
    (await app.post('/v1/key', { wallet_handle_token: ownerHandle })).json.address
  const [address, otherAddress] = [await generate(), await generate()]
  const created = await app.post('/latchkey/v1/agents', {
    name: settings.name ?? `agent ${count}`,
    wallet_id: walletId,
    wallet_password: password,
    addresses: [address],
    rules: settings.rules ?? rules,
    expires_at_ms: settings.expiresAtMs ?? 0,
  })
  if (created.status !== 200) throw new Error(`no agent: ${created.text}`)
  const { agent, token } = created.json
  const request: TestAgent['request'] = (method, path, body) =>
    app.request(method, path, { body, headers: { 'x-kmd-api-token': token } })
  const post: TestAgent['post'] = (path, body) => request('POST', path, body)
  const handle = async (): Promise<string> =>
    (await post('/v1/wallet/init', { wallet_id: walletId })).json.wallet_handle_token
  return { id: agent.id, token, walletId, ownerHandle, address, otherAddress, request, post, handle }
}

/** A payment on these tests' network, as msgpack in base64. */
export function payment(sender: string, change: Partial<Transaction.Transaction> = {}): string {
  const transaction: Transaction.Transaction = {
    ...{ type: 'pay', snd: Address.decode(sender), rcv: Buffer.alloc(32, 9), amt: 100_000n },
    ...{ fee: 1_000n, fv: 1n, lv: 1_000n, gh: genesisHash },
    ...change,
  }
  return Buffer.from(Transaction.encode(transaction)).toString('base64')
}
