/** A key daemon on the person's own machine, for development. */
import { Kmd, KmdClientError, type KmdClientErrorCode, type Wallet } from '@latchkey/kmd-client'
import type { Connection, ConnectorFailure, ConnectorFailureCode, ConnectorOptions } from './Connector.js'

export async function connect({ kmd: access }: ConnectorOptions): Promise<Connection> {
  const { url, token, wallet, promptForPassword } = access!
  const kmd = await connectTo(url, token)
  const names = wallet === undefined ? (await kmd.wallets.list().catch(fail)).map(({ name }) => name) : [wallet]
  if (names.length === 0) throw { connectorCode: 'wallet_not_found' } satisfies ConnectorFailure
  const { wallet: name, password } = await promptForPassword(names)
  /** Unlocks the wallet for one act at a time, so that an abandoned page leaves no handle open. */
  const unlocked = async <T>(act: (wallet: Wallet) => Promise<T>): Promise<T> => {
    try {
      const wallet = await kmd.unlock({ name, password: () => password })
      return await act(wallet).finally(() => wallet.release().catch(() => {}))
    } catch (error) {
      return fail(error, name)
    }
  }
  return {
    addresses: await unlocked((wallet) => wallet.keys()),
    sign: ({ transactions, index }) => unlocked(async (wallet) => [await wallet.signTransaction(transactions[index]!)]),
  }
}

/** The client supports http only. Behind a TLS proxy the daemon has an https address. */
async function connectTo(url: string, token: string): Promise<Kmd> {
  const { protocol, hostname, port } = new URL(url)
  const address = `http://${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  const send: typeof fetch = (input, init) => fetch(String(input).replace(/^http:/, protocol), init)
  return Kmd.connect({ address, token, fetch: send }).catch(fail)
}

const codes: { readonly [code in KmdClientErrorCode]?: ConnectorFailureCode } = {
  wrong_password: 'wrong_password',
  too_many_wrong_passwords: 'too_many_attempts',
  wallet_name_not_found: 'wallet_not_found',
  invalid_token: 'daemon_token_rejected',
  daemon_not_running: 'daemon_unreachable',
  connection_lost: 'daemon_unreachable',
  timeout: 'daemon_unreachable',
}

function fail(error: unknown, name = ''): never {
  if (!(error instanceof KmdClientError)) throw error
  const connectorCode = codes[error.code] ?? 'wallet_failed'
  throw {
    connectorCode,
    detail: connectorCode === 'wallet_not_found' ? name : error.message,
  } satisfies ConnectorFailure
}
