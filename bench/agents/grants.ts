/** Creates agents of one wallet, and their owner, each with everything needed to make requests. */
import { Address, Network } from '@latchkey/algorand'
import { Connection } from '../support/Connection.js'
import type { Daemon } from '../support/Daemon.js'
import { apiToken } from '../support/DataDirectory.js'

/** A signer: a token, a wallet handle, and the key. */
export type Signer = {
  readonly token: string
  readonly handle: string
  readonly password: string
  readonly publicKey: Uint8Array
}

export type Grant = {
  readonly walletId: string
  readonly agent: Signer
  readonly owner: Signer
  /** Returns the same grant after a restart of the daemon. A restart invalidates handles. */
  readonly reopen: (daemon: Daemon) => Promise<Grant>
}

const password = 'secret'
/** More than any run can spend. */
const amount = `${10n ** 15n}`

export async function makeGrants(daemon: Daemon, count: number): Promise<Grant[]> {
  const wallet = { wallet_name: 'agents', wallet_driver_name: 'sqlite', wallet_password: password }
  const created = (await daemon.call('POST', '/v1/wallet', wallet)) as { wallet: { id: string } }
  const walletId = created.wallet.id
  const handle = await daemon.unlock(walletId, password)
  const { address } = (await daemon.call('POST', '/v1/key', { wallet_handle_token: handle })) as { address: string }
  const network = Network.testnet.genesisHash
  const limits = ['payment', 'day', 'total'].map((per) => ({ per, network, type: 'amount', asset_id: '0', amount }))
  const rules = { networks: [network], limits, payees: { allow_all: true } }
  const grants: Grant[] = []
  for (let number = 0; number < count; number++) {
    const grant = {
      name: `agent ${number}`,
      wallet_id: walletId,
      wallet_password: password,
      addresses: [address],
      rules,
    }
    const { token } = (await daemon.call('POST', '/latchkey/v1/agents', grant)) as { token: string }
    grants.push(await open(daemon, { walletId, token, publicKey: Address.decode(address), handle }))
  }
  return grants
}

type Opened = { walletId: string; token: string; publicKey: Uint8Array; handle: string }

async function open(daemon: Daemon, { walletId, token, publicKey, handle }: Opened): Promise<Grant> {
  const agent = { token, handle: await openAsAgent(daemon.port, walletId, token), password: '', publicKey }
  const owner = { token: apiToken, handle, password, publicKey }
  const reopen = async (other: Daemon): Promise<Grant> =>
    open(other, { walletId, token, publicKey, handle: await other.unlock(walletId, password) })
  return { walletId, agent, owner, reopen }
}

/** Confirms the agents of a wallet: the daemon suspends them when another program has replaced its log. */
export async function confirmAgents(daemon: Daemon, { walletId }: Grant): Promise<void> {
  await daemon.call('POST', '/latchkey/v1/agents/confirm', { wallet_id: walletId, wallet_password: password })
}

/** An agent opens a handle without a password. */
async function openAsAgent(port: number, walletId: string, token: string): Promise<string> {
  const connection = await Connection.open(port, { keepBody: true })
  const body = JSON.stringify({ wallet_id: walletId, wallet_password: '' })
  const head = `POST /v1/wallet/init HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-KMD-API-Token: ${token}\r\n`
  const response = await connection.request(Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`))
  connection.close()
  if (response.status !== 200) throw new Error(`an agent cannot open its wallet: ${response.body}`)
  return (JSON.parse(response.body) as { wallet_handle_token: string }).wallet_handle_token
}
