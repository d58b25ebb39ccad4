/** `latchkey facilitator`: verifies and settles payments for sellers, in the foreground. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Server } from '@latchkey/http'
import { createApp, Facilitator, type PolicyOptions, SqliteSettlements } from '@latchkey/x402/facilitator'
import { type Command, readOptions, UsageError } from '../Command.js'
import { chainOptions, openChain, readWhole, signerFrom } from '../environment.js'
import { exitCodes } from '../exitCodes.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

const defaultPort = 4022

const help = `Runs an x402 facilitator until it is told to stop (Ctrl-C, SIGTERM): POST /verify, POST /settle, GET /supported,
/health and /metrics. Every settlement is written down before it is sent, and taken up again after a restart.

Usage:
  latchkey facilitator [options]

Options:
  -p, --port PORT          where it listens (${defaultPort}); 0 takes a free one
      --host HOST          on which address (127.0.0.1)
      --network NETWORK    testnet (the default), mainnet, betanet, local, or a CAIP-2 id
      --node URL           an algod of that network; may be given several times, for failover
      --dollar ID          the asset that is a dollar on a local network
      --store FILE         where settlements are written down (~/.latchkey/facilitator.db)
      --pay-to ADDRESS     settle only for this seller; may be given several times
      --asset ID           settle only in this asset; may be given several times
      --rate N             requests a minute for each seller
      --fee-budget MICRO   microAlgos of fees a day for each seller
      --open               on mainnet: really settle for anybody
      --json               print the first block as one line of JSON

The key that pays fees: AVM_MNEMONIC (25 words) or AVM_PRIVATE_KEY (64 bytes in base64) in the environment; or one that
stays in the key daemon: KMD_DATA_DIR, KMD_WALLET, KMD_PASSWORD_FILE and AVM_ADDRESS. Without any, buyers pay their own
fees. FACILITATOR_API_KEYS, separated by commas, are asked of callers; ALGOD_TOKEN is sent to the nodes.

Example:
  AVM_MNEMONIC="..." latchkey facilitator --network local --node http://127.0.0.1:4001 --dollar 31566704

Exit codes: 0 stopped, 1 wrong usage, 3 failed.
`

export const facilitatorCommand: Command = {
  help,
  run: async (args) => {
    const options = readOptions(args, {
      port: { type: 'string', short: 'p' },
      host: { type: 'string' },
      ...chainOptions,
      store: { type: 'string' },
      'pay-to': { type: 'string', multiple: true },
      asset: { type: 'string', multiple: true },
      rate: { type: 'string' },
      'fee-budget': { type: 'string' },
      open: { type: 'boolean' },
      json: { type: 'boolean' },
    })
    const network = options.network ?? 'testnet'
    const port = readPort(options.port)
    const host = options.host ?? '127.0.0.1'
    const policy = readPolicy(options)
    if (network === 'mainnet' && !options.open) checkForProduction(policy)
    const feePayer = signerFrom(process.env)
    const chain = await openChain(options, process.env)
    const store = new SqliteSettlements(options.store ?? defaultStore())
    const onError = (error: unknown): void =>
      void process.stderr.write(`latchkey facilitator: ${(error as Error).message}\n`)
    const facilitator = new Facilitator({ chains: [chain], feePayer, store, policy, onError })
    const server = new Server({ handle: createApp({ facilitator, onError }), limits: { bodyBytes: 1024 * 1024 } })
    const running = await startUnderSignals(async () => {
      const resumed = await facilitator.resume()
      const address = await server.listen(host, port)
      return new Running(`http://${host}:${address.port}`, resumed, server, facilitator)
    })
    const account = feePayer === undefined ? undefined : (feePayer.sender ?? feePayer.address)
    const facts = {
      version,
      url: running.url,
      network: chain.caip2,
      feePayer: account ?? null,
      resumed: running.resumed,
    }
    process.stdout.write(options.json ? `${JSON.stringify({ ...facts, pid: process.pid })}\n` : block(facts))
    const fault = await facilitator.health()
    if (fault !== undefined) process.stderr.write(`warning: ${fault}\n`)
    await running.stopped
    return exitCodes.ok
  },
}

class Running {
  readonly url: string
  readonly resumed: number
  readonly stopped: Promise<void>
  readonly #stop: () => Promise<void>
  #tell!: (stopping: Promise<void>) => void

  constructor(url: string, resumed: number, server: Server, facilitator: Facilitator) {
    this.url = url
    this.resumed = resumed
    this.stopped = new Promise((resolve) => {
      this.#tell = resolve
    })
    this.#stop = async () => {
      await server.stop()
      await facilitator.stop()
    }
  }

  stop(): Promise<void> {
    const stopping = this.#stop()
    this.#tell(stopping)
    return stopping
  }
}

type Options = {
  'pay-to'?: string[] | undefined
  asset?: string[] | undefined
  rate?: string | undefined
  'fee-budget'?: string | undefined
}

function readPolicy(options: Options): PolicyOptions {
  const keys = (process.env['FACILITATOR_API_KEYS'] ?? '').split(',').filter((key) => key !== '')
  return {
    payTo: options['pay-to'],
    assets: options.asset,
    apiKeys: keys.length === 0 ? undefined : keys,
    requestsPerMinute: options.rate === undefined ? undefined : Number(readWhole('--rate', options.rate)),
    feeMicroAlgosPerDay:
      options['fee-budget'] === undefined ? undefined : BigInt(readWhole('--fee-budget', options['fee-budget'])),
  }
}

/** Real money: whoever runs this says for whom, or that it is for everybody. */
function checkForProduction({ payTo, apiKeys, feeMicroAlgosPerDay }: PolicyOptions): void {
  const isFor = payTo !== undefined || apiKeys !== undefined
  if (isFor && feeMicroAlgosPerDay !== undefined) return
  throw new UsageError(
    'on mainnet say for whom it settles (--pay-to, or FACILITATOR_API_KEYS) and up to which fees a day (--fee-budget), or --open',
  )
}

function defaultStore(): string {
  const directory = join(homedir(), '.latchkey')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return join(directory, 'facilitator.db')
}

function readPort(text: string | undefined): number {
  if (text === undefined) return defaultPort
  const port = Number(readWhole('--port', text))
  if (port > 65_535) throw new UsageError('--port takes a number from 0 to 65535')
  return port
}

type Facts = { version: string; url: string; network: string; feePayer: string | null; resumed: number }

function block({ url, network, feePayer, resumed }: Facts): string {
  return `Latchkey facilitator ${version}

  Address   ${url}
  Network   ${network}
  Fees      ${feePayer === null ? 'paid by the buyers' : `paid by ${feePayer}`}
  Pending   ${resumed === 0 ? 'nothing' : `${resumed} settlements taken up again`}

Try it:
  curl -s ${url}/supported

`
}
