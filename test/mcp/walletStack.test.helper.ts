/**
 * Starts the full stack for an agent's wallet: a ledger, a key daemon, a facilitator, sellers, and `latchkey mcp` in
 * processes.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bytes, SignedTransaction, type Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { Daemon } from '@latchkey/kmd'
import { Kmd, type NewAgentRules } from '@latchkey/kmd-client'
import { Chain, decodePayment, type PaymentPayload, type PaymentRequired, Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { type FacilitatorClient, localFacilitator } from '@latchkey/x402/server'
import { type CallToolResult, Client, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { latchkeyCommand } from '../support/devnet.test.helper.js'

export const dollar = 31566704n
export const cent = 10_000n
const password = 'secret'

export type Scope = { after: (work: () => unknown) => void }

type Answer = {
  readonly status: number
  readonly headers?: { [name: string]: string }
  readonly body?: string | Buffer
}
export type Route = (request: SellerRequest) => Answer | Promise<Answer>
export type SellerRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly payment: PaymentPayload | undefined
}

/** The contents of a seller's offer besides the price. */
export type OfferOptions = {
  readonly amount?: bigint | undefined
  /** @default the dollar */
  readonly asset?: bigint | undefined
  readonly description?: string | undefined
  readonly payTo?: string | undefined
  readonly extra?: { readonly [name: string]: unknown } | undefined
  readonly body?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
}

export class WalletStack {
  readonly directory: string
  readonly devnet: Devnet
  readonly chain: Chain
  readonly kmd: Kmd
  readonly dataDir: string
  readonly address: string
  readonly walletId: string
  readonly payTo: string
  readonly sponsor: string
  readonly facilitator: FacilitatorClient
  readonly sellerUrl: string
  /** The sellers' responses, by path. */
  readonly routes = new Map<string, Route>()
  /** The transactions of all payments that sellers received, as they were signed for the agent. */
  readonly signed: Transaction.Transaction[] = []
  readonly daemon: { stop: () => Promise<void>; start: () => Promise<void> }

  static async start(t: Scope): Promise<WalletStack> {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-mcp-wallet-'))
    t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
    const devnet = await Devnet.start({ port: 0, accounts: 1 })
    t.after(() => devnet.stop())
    const daemon = await startDaemon(t, directory)
    const kmd = await Kmd.connect({ dataDir: daemon.dataDir })
    t.after(() => kmd.close())
    const { id: walletId } = await kmd.wallets.create({ name: 'purse', password })
    const wallet = await kmd.unlock({ id: walletId, password })
    const address = await wallet.generateKey()
    await wallet.release()
    const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
    const [seller, sponsor] = [newSigner(), newSigner()]
    devnet.fund(address, { microAlgos: 10_000_000n, assets: [{ assetId: dollar, amount: 50_000_000n }] })
    devnet.fund(sponsor.address, { microAlgos: 100_000_000n })
    devnet.optIn(seller.address, dollar)
    const settler = new Facilitator({ chains: [chain], feePayer: sponsor })
    t.after(() => settler.stop())
    const parts = { directory, devnet, chain, kmd, dataDir: daemon.dataDir, address, walletId, daemon }
    const stack = new WalletStack({
      ...{ ...parts, payTo: seller.address, sponsor: sponsor.address, facilitator: localFacilitator(settler) },
      sellerUrl: await listen(t, (request, response) => stack.#serve(request, response)),
    })
    return stack
  }

  private constructor(
    parts: Omit<{ [key in keyof WalletStack]: WalletStack[key] }, 'routes' | 'signed' | MethodNames>,
  ) {
    this.directory = parts.directory
    this.devnet = parts.devnet
    this.chain = parts.chain
    this.kmd = parts.kmd
    this.dataDir = parts.dataDir
    this.address = parts.address
    this.walletId = parts.walletId
    this.payTo = parts.payTo
    this.sponsor = parts.sponsor
    this.facilitator = parts.facilitator
    this.sellerUrl = parts.sellerUrl
    this.daemon = parts.daemon
  }

  get network(): string {
    return Bytes.toBase64(this.chain.genesisHash)
  }

  /** Creates an agent with, by default, a dollar a day and 50 cents per payment. Its token is in the file. */
  async newAgent(rules: Partial<NewAgentRules> = {}): Promise<{ id: string; tokenFile: string; token: string }> {
    const { network, walletId, address } = this
    const name = `agent-${randomBytes(4).toString('hex')}`
    const limit = { network, type: 'amount', assetId: dollar } as const
    const limits = [
      { ...limit, per: 'day', amount: 1_000_000n } as const,
      { ...limit, per: 'payment', amount: 500_000n } as const,
    ]
    const all: NewAgentRules = { networks: [network], limits, payees: { allow: 'all' }, ...rules }
    const { agent, token } = await this.kmd.agents.create({
      name,
      walletId,
      addresses: [address],
      password,
      rules: all,
    })
    const tokenFile = join(this.directory, `${name}.token`)
    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 })
    return { id: agent.id, tokenFile, token }
  }

  /** Returns the arguments of `latchkey mcp` for this stack. */
  arguments(tokenFile: string, more: readonly string[] = []): string[] {
    return [
      ...['mcp', '--token-file', tokenFile, '--data-dir', this.dataDir, '--network', 'local'],
      ...['--node', this.devnet.url, '--dollar', `${dollar}`],
      ...['--allow-host', new URL(this.sellerUrl).host, ...more],
    ]
  }

  environment(): { [name: string]: string } {
    return { PATH: process.env['PATH'] ?? '', HOME: this.directory, XDG_STATE_HOME: join(this.directory, 'state') }
  }

  /** Connects the official client to a server in its own process. */
  async connect(
    t: Scope,
    tokenFile: string,
    options: ClientOptions & { args?: readonly string[]; prepare?: (client: Client) => void } = {},
  ): Promise<Client> {
    const { args = [], prepare, ...clientOptions } = options
    const client = new Client({ name: 'test', version: '1.0.0' }, clientOptions)
    prepare?.(client)
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: [latchkeyCommand, ...this.arguments(tokenFile, args)] },
      ...{ env: this.environment(), stderr: 'pipe' },
    })
    await client.connect(transport)
    t.after(() => client.close())
    return client
  }

  /** Returns the seller's balance, in millionths of a dollar. */
  async earned(address = this.payTo): Promise<bigint> {
    return (await this.chain.algod.holding(address, dollar))?.amount ?? 0n
  }

  required({
    amount = cent,
    asset = dollar,
    description,
    payTo = this.payTo,
    extra = {},
  }: OfferOptions = {}): PaymentRequired {
    const network = this.chain.caip2 as PaymentRequired['accepts'][number]['network']
    const one = { scheme: 'exact', network, amount: `${amount}`, asset: `${asset}`, payTo, maxTimeoutSeconds: 60 }
    return {
      x402Version: 2,
      resource: { url: this.sellerUrl, ...(description === undefined ? {} : { description }) },
      accepts: [{ ...one, extra: { feePayer: this.sponsor, ...extra } }],
    }
  }

  /** Returns a 402 with an offer. */
  asks(options: OfferOptions = {}): Answer {
    const header = Buffer.from(JSON.stringify(this.required(options))).toString('base64')
    return { status: 402, headers: { ...options.headers, 'PAYMENT-REQUIRED': header }, body: options.body ?? '{}' }
  }

  /** Settles the received payment, and responds with a receipt. */
  async settles({ payment }: SellerRequest, body: string, options: OfferOptions = {}): Promise<Answer> {
    const [requirement] = this.required(options).accepts
    const receipt = await this.facilitator.settle(payment!, requirement!)
    const header = Buffer.from(JSON.stringify(receipt)).toString('base64')
    const headers = { 'PAYMENT-RESPONSE': header, 'Content-Type': 'text/plain', ...options.headers }
    return { status: receipt.success ? 200 : 402, headers, body }
  }

  /** Adds a seller at a path that asks for payment and serves when it is paid. Returns the URL. */
  sells(path: string, body: string, options: OfferOptions = {}): string {
    this.routes.set(path, (request) =>
      request.payment === undefined ? this.asks(options) : this.settles(request, body, options),
    )
    return `${this.sellerUrl}${path}`
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const header = incoming.headers['payment-signature']
    const payment = typeof header === 'string' ? decodePayment(header) : undefined
    if (payment !== undefined) this.signed.push(signedIn(payment))
    const { method = 'GET', headers } = incoming
    const route = this.routes.get(new URL(incoming.url ?? '/', this.sellerUrl).pathname)
    const request = { method, url: incoming.url ?? '/', headers, body: Buffer.concat(pieces).toString(), payment }
    const answer: Answer = route === undefined ? { status: 404, body: 'nothing here' } : await route(request)
    if (answer.status === 0) outgoing.destroy()
    else outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }
}

type MethodNames =
  | 'newAgent'
  | 'arguments'
  | 'environment'
  | 'connect'
  | 'earned'
  | 'required'
  | 'asks'
  | 'settles'
  | 'sells'
  | 'network'

function signedIn({ payload }: PaymentPayload): Transaction.Transaction {
  const { paymentGroup, paymentIndex } = payload as { paymentGroup: string[]; paymentIndex: number }
  return SignedTransaction.decode(Bytes.fromBase64(paymentGroup[paymentIndex]!)!).txn
}

async function startDaemon(t: Scope, directory: string) {
  const dataDir = mkdtempSync(join(directory, 'kmd-'))
  const drivers = { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true }, ledger: { disable: true } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: '127.0.0.1:0', drivers }))
  let daemon: Daemon | undefined
  const start = async (): Promise<void> => {
    daemon = await Daemon.start({ dataDir, wire: 'documented', limits: { stopMs: 100 } })
  }
  const stop = async (): Promise<void> => {
    await daemon?.stop()
    daemon = undefined
  }
  t.after(stop)
  await start()
  return { dataDir, start, stop }
}

async function listen(
  t: Scope,
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function newSigner(): Signer.Signer {
  return Signer.fromSeed(new Uint8Array(randomBytes(32)))
}

/** Returns the first text of a result, which comes from this server and not from a seller. */
export function summary({ content }: CallToolResult): string {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** Returns the error of a failed call, for programs. */
export function errorOf({ isError, _meta }: CallToolResult): { readonly [name: string]: unknown } | undefined {
  return isError === true ? (_meta?.['latchkey/error'] as { [name: string]: unknown }) : undefined
}

export function data(result: CallToolResult): { readonly [name: string]: unknown } {
  return result.structuredContent as { [name: string]: unknown }
}

/** The result of `paid_fetch`. */
export type Fetched = {
  outcome: string
  status: number | null
  paid: { [name: string]: string | boolean } & { transaction_id: string }
  left: { limit: string; left: string }[]
  approval_id: string | null
  untrusted: { notice: string; text: string | null; bytes: number; is_cut: boolean; media_type: string }
  next: string[]
}
