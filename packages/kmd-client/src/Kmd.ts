/**
 * A typed client for the key daemon, this one or the Go daemon, on either wire.
 *
 *     const kmd = await Kmd.connect({ dataDir })
 *     const wallet = await kmd.unlock({ name: 'treasury', password: () => askOperator() })
 *     const signed = await wallet.signTransaction(transaction)
 *     await wallet.release()
 */
import { type CallOptions, Connection } from './Connection.js'
import * as Endpoint from './Endpoint.js'
import type { Password } from './Password.js'
import { Session } from './Session.js'
import { Wallet } from './Wallet.js'
import { find, type Selector, Wallets } from './Wallets.js'

export type ConnectOptions = ConnectSettings &
  (
    | {
        /** Of the daemon: kmd.net and kmd.token in it are read, and read again when the daemon was restarted. */
        dataDir: string
        address?: undefined
        token?: undefined
      }
    | {
        /** `host:port`, or an http URL. */
        address: string
        token: string
        dataDir?: undefined
      }
  )

type ConnectSettings = {
  /** For each request; 30 seconds unless told. */
  timeoutMs?: number | undefined
  /** Longer answers are refused; 64 MiB unless told. */
  maxAnswerBytes?: number | undefined
}

export type UnlockOptions = CallOptions &
  Selector & {
    /** Used once; a function is asked again when a password is needed again. The blank password unless given. */
    password?: Password | undefined
  }

export type Health = {
  status: string
  version: string
  uptimeSeconds: number
  wallets: number
  openHandles: number
}

/** The Algorand node that the daemon asks. */
export type NodeInfo = {
  isSet: boolean
  isReachable: boolean
  /** Blank and zero unless it is reachable, as are the next three. */
  genesisId: string
  /** Base64. */
  genesisHash: string
  network: 'mainnet' | 'testnet' | 'betanet' | 'local' | ''
  lastRound: number
  /** Why it is not reachable, and what to do. */
  message: string
}

export type ConsoleLink = {
  /** Opens the console in a browser on the machine of the daemon, once. It is a secret until then. */
  url: string
  expiresSeconds: number
}

const networks = ['mainnet', 'testnet', 'betanet', 'local', ''] as const

const defaultTimeoutMs = 30_000
const defaultMaxAnswerBytes = 64 * 1024 * 1024

export class Kmd {
  readonly wallets: Wallets
  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
    this.wallets = new Wallets(connection)
  }

  /** Finds out where the daemon is. Nothing is sent until the first call. */
  static async connect(options: ConnectOptions): Promise<Kmd> {
    const { dataDir, timeoutMs = defaultTimeoutMs, maxAnswerBytes = defaultMaxAnswerBytes } = options
    const endpoint =
      options.dataDir === undefined
        ? Endpoint.parse(options.address, options.token)
        : await Endpoint.read(options.dataDir)
    return new Kmd(new Connection({ endpoint, dataDir, timeoutMs, maxAnswerBytes }))
  }

  /** Where the daemon was last found. */
  get address(): string {
    return this.#connection.address
  }

  /** Opens a handle for a wallet. */
  async unlock({ id, name, password = '', ...options }: UnlockOptions): Promise<Wallet> {
    const selector = { id, name } as Selector
    const walletId = await find(this.#connection, selector, 'InitWalletHandleToken', options)
    return new Wallet(await Session.open(this.#connection, { id: walletId, password, ...options }))
  }

  /** The versions of the API that the daemon speaks. */
  async versions(options: CallOptions = {}): Promise<string[]> {
    return (await this.#connection.call('GetVersion', options)).texts('versions')
  }

  /** The daemon's description of its API, in OpenAPI 2. */
  async description(options: CallOptions = {}): Promise<{ readonly [member: string]: unknown }> {
    return (await this.#connection.call('SwaggerHandler', options)).members
  }

  /** Of this daemon only; the Go daemon does not have it. */
  async health(options: CallOptions = {}): Promise<Health> {
    const answer = await this.#connection.call('GetHealth', options)
    return {
      status: answer.text('status'),
      version: answer.text('version'),
      uptimeSeconds: answer.integer('uptime_seconds'),
      wallets: answer.integer('wallets'),
      openHandles: answer.integer('open_handles'),
    }
  }

  /** A link to the daemon's console. Of this daemon only. */
  async consoleLink(options: CallOptions = {}): Promise<ConsoleLink> {
    const answer = await this.#connection.call('CreateConsoleLink', options)
    return {
      url: `http://${this.#connection.address}${answer.text('path')}`,
      expiresSeconds: answer.integer('expires_seconds'),
    }
  }

  /** Of this daemon only. */
  async node(options: CallOptions = {}): Promise<NodeInfo> {
    const answer = await this.#connection.call('GetNode', options)
    // Left out is blank.
    const text = (name: string): string => (answer.members[name] === undefined ? '' : answer.text(name))
    return {
      isSet: answer.bool('is_set'),
      isReachable: answer.bool('is_reachable'),
      genesisId: text('genesis_id'),
      genesisHash: text('genesis_hash'),
      network: networks.find((known) => known === text('network')) ?? 'local',
      lastRound: answer.integer('last_round'),
      message: text('message'),
    }
  }

  /** Ends idle connections, which would otherwise end by themselves. Handles stay open. */
  close(): void {
    this.#connection.close()
  }
}
