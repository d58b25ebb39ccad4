/** A typed client for Latchkey's key daemon and the Go daemon, on either wire. */
import type { Fetch } from '@latchkey/http-client'
import { AgentClient } from './AgentClient.js'
import { Agents } from './Agents.js'
import { Approvals } from './Approvals.js'
import { Audit } from './Audit.js'
import { type CallOptions, Connection, type ConnectionOptions, readEndpoint } from './Connection.js'
import { Contacts } from './Contacts.js'
import * as Endpoint from './Endpoint.js'
import { KmdClientError } from './KmdClientError.js'
import type { Password } from './Password.js'
import { Session } from './Session.js'
import { Wallet } from './Wallet.js'
import { find, type Selector, Wallets } from './Wallets.js'

/** The daemon's location and the client's limits. */
export type ConnectOptions = ConnectSettings &
  (
    | {
        /**
         * The daemon's data directory. The client reads `kmd.net` and `kmd.token` from it, and reads them again after
         * the daemon restarts. Nothing is sent to a listener that is not the daemon of this directory. Node only.
         */
        dataDir: string
        address?: undefined
        token?: undefined
      }
    | {
        /**
         * `host:port`, an http URL, or, on Node, `unix:/path` for a Unix socket. The client trusts this address: it
         * sends the token to any program listening there.
         */
        address: string
        /** The API token: the first line of `kmd.token`. */
        token: string
        dataDir?: undefined
      }
  )

/** The daemon's location and the agent's token. */
export type AgentConnectOptions = ConnectSettings & {
  /** The agent's token. */
  token: string
} & (
    | {
        /** `host:port`, an http URL, or, on Node, `unix:/path` for a Unix socket. */
        address: string
        dataDir?: undefined
      }
    | {
        /** The daemon's data directory. Only `kmd.net` is read. Node only. */
        dataDir: string
        address?: undefined
      }
  )

type ConnectSettings = {
  /**
   * The time limit of each request, in milliseconds.
   *
   * @default 30_000
   */
  timeoutMs?: number | undefined
  /**
   * Rejects longer responses.
   *
   * @default 64 MiB
   */
  maxResponseBytes?: number | undefined
  /**
   * A custom `fetch` that sends the requests, for example a service binding of an edge runtime.
   *
   * @default keep-alive connections of `node:http` on Node, `globalThis.fetch` elsewhere
   */
  fetch?: Fetch | undefined
}

/** Options of `kmd.unlock`. */
export type UnlockOptions = CallOptions &
  Selector & {
    /**
     * A password value is used once and not kept. A function is called each time a password is needed, including when
     * the wallet is unlocked again after its handle has expired.
     *
     * @default ''
     */
    password?: Password | undefined
  }

/** The daemon's state. */
export type Health = {
  status: string
  version: string
  uptimeSeconds: number
  wallets: number
  openHandles: number
  /**
   * Rejected or damaged files in the wallets directory, at most 100. `problem` completes a sentence that starts with
   * the file name.
   */
  walletProblems: { file: string; problem: string }[]
  /** Log lines lost since the daemon started, for example because the disk was full. */
  lostLogLines: number
  /**
   * Names of agents that ran as the daemon's user or as root since the daemon started. Their limits are not
   * enforceable.
   */
  sameUserAgents: string[]
  /** Names of agents that cannot sign until the owner confirms them, at most 100. */
  suspendedAgents: string[]
  /** Program and arguments that start the `latchkey` command on the daemon's machine; empty if it is unknown. */
  command: string[]
}

/** The Algorand node used by the daemon. */
export type NodeInfo = {
  isSet: boolean
  isReachable: boolean
  /** Blank if the node is unreachable, like `genesisHash` and `network`. */
  genesisId: string
  /** In base64. */
  genesisHash: string
  network: 'mainnet' | 'testnet' | 'betanet' | 'local' | ''
  /** 0 if the node is unreachable. */
  lastRound: number
  /** Why the node is unreachable, and what to do. */
  message: string
}

/** A link that opens the daemon's console. */
export type ConsoleLink = {
  /** Works once, in a browser on the daemon's machine. Keep it secret until it has been used. */
  url: string
  expiresSeconds: number
}

const networks = ['mainnet', 'testnet', 'betanet', 'local', ''] as const

const defaultTimeoutMs = 30_000
const defaultMaxResponseBytes = 64 * 1024 * 1024

/**
 * A client for a key daemon. Every method throws {@link KmdClientError}.
 *
 * @example
 * const kmd = await Kmd.connect({ dataDir })
 * const wallet = await kmd.unlock({ name: 'treasury', password: () => askOperator() })
 * const signed = await wallet.signTransaction(transaction)
 * await wallet.release()
 */
export class Kmd {
  /** The daemon's wallets. */
  readonly wallets: Wallets
  /** The address book. Latchkey's daemon only. */
  readonly contacts: Contacts
  /** The audit log. Latchkey's daemon only. */
  readonly audit: Audit
  /** The agents. Latchkey's daemon only. */
  readonly agents: Agents
  /** Agent payments waiting for the owner. Latchkey's daemon only. */
  readonly approvals: Approvals
  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
    this.wallets = new Wallets(connection)
    this.contacts = new Contacts(connection)
    this.audit = new Audit(connection)
    this.agents = new Agents(connection)
    this.approvals = new Approvals(connection)
  }

  /**
   * Creates a client. Reads the data directory if one is given, and sends nothing before the first call.
   *
   * @throws KmdClientError `daemon_not_running`, `data_directory_unreadable`, `data_directory_unsupported`,
   * `invalid_argument`
   */
  static async connect(options: ConnectOptions): Promise<Kmd> {
    return new Kmd(await open(options))
  }

  /**
   * Creates a client for an agent. The client uses the agent's token, never the owner's, and sends nothing before the
   * first call.
   *
   * @throws KmdClientError `daemon_not_running`, `data_directory_unreadable`, `data_directory_unsupported`,
   * `invalid_argument`
   *
   * @example
   * const agent = await Kmd.asAgent({ address: '127.0.0.1:7833', token })
   */
  static async asAgent(options: AgentConnectOptions): Promise<AgentClient> {
    if (!options?.token) throw invalid('token is not set', 'Pass the token that `latchkey agent new` wrote.')
    return new AgentClient(await open(options))
  }

  /** The address where the daemon was last reached. */
  get address(): string {
    return this.#connection.address
  }

  /** Unlocks a wallet by opening a handle. */
  async unlock({ id, name, password = '', ...options }: UnlockOptions): Promise<Wallet> {
    const selector = { id, name } as Selector
    const walletId = await find(this.#connection, selector, 'InitWalletHandleToken', options)
    return new Wallet(await Session.open(this.#connection, { id: walletId, password, ...options }))
  }

  /** Lists the API versions that the daemon supports. */
  async versions(options: CallOptions = {}): Promise<string[]> {
    return (await this.#connection.call('GetVersion', options)).versions
  }

  /** Returns the daemon's OpenAPI 2 document. */
  async description(options: CallOptions = {}): Promise<{ readonly [member: string]: unknown }> {
    return this.#connection.call('SwaggerHandler', options)
  }

  /** Returns the daemon's state. Latchkey's daemon only. */
  async health(options: CallOptions = {}): Promise<Health> {
    return this.#connection.call('GetHealth', options)
  }

  /** Creates a link to the daemon's console. Latchkey's daemon only. */
  async consoleLink(options: CallOptions = {}): Promise<ConsoleLink> {
    if (this.#connection.address.startsWith('unix:')) {
      const message = "a browser cannot use a Unix socket; connect to the daemon's port for a link to its console"
      throw new KmdClientError('invalid_argument', message, { operation: 'CreateConsoleLink' })
    }
    const response = await this.#connection.call('CreateConsoleLink', options)
    return {
      url: `http://${this.#connection.address}${response.path}`,
      expiresSeconds: response.expiresSeconds,
    }
  }

  /** Describes the Algorand node used by the daemon. Latchkey's daemon only. */
  async node(options: CallOptions = {}): Promise<NodeInfo> {
    const { hasFaucet: _, usdcAssetIds: __, ...node } = await this.#connection.call('GetNode', options)
    return { ...node, network: networks.find((known) => known === node.network) ?? 'local' }
  }

  /** Closes idle connections. Without this call, they time out. Handles stay open. */
  close(): void {
    this.#connection.close()
  }
}

type OpenOptions = ConnectSettings & {
  dataDir?: string | undefined
  address?: string | undefined
  token?: string | undefined
}

async function open(options: OpenOptions): Promise<Connection> {
  // Programs read these values from the environment, so they may be undefined or blank.
  const dataDir = options?.dataDir || undefined
  const { address, token = '' } = options ?? {}
  if (dataDir === undefined && !address) {
    const hint = "Pass the daemon's data directory; check that its environment variable is set."
    throw invalid('neither dataDir nor address is set', hint)
  }
  const { timeoutMs = defaultTimeoutMs, maxResponseBytes = defaultMaxResponseBytes, fetch } = options
  const settings: Omit<ConnectionOptions, 'endpoint'> = { dataDir, timeoutMs, maxResponseBytes, fetch }
  if (dataDir === undefined) return new Connection({ ...settings, endpoint: Endpoint.parse(address ?? '', token) })
  const agentToken = token || undefined
  return new Connection({ ...settings, agentToken, endpoint: await readEndpoint(dataDir, agentToken) })
}

function invalid(message: string, hint: string): KmdClientError {
  return new KmdClientError('invalid_argument', message, { operation: 'connect', hint })
}
