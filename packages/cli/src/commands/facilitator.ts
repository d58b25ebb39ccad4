/** `latchkey facilitator`: verifies and settles payments for sellers, in the foreground. */
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { createApp, Facilitator, type PolicyOptions } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { command, jsonOption, readNumber, UsageError } from '../Command.js'
import {
  chainOptions,
  networkOf,
  openChain,
  readWhole,
  signerFrom,
  signerNotes,
  signerOptions,
} from '../environment.js'
import { exitCodes } from '../exitCodes.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

const defaultPort = 4022

export const facilitatorCommand = command({
  text: `Runs an x402 facilitator until it is told to stop (Ctrl-C, SIGTERM): POST /verify, POST /settle, GET /supported, /health and /metrics. \
Every settlement is written down before it is sent, and taken up again after a restart.`,
  options: {
    port: { type: 'string', short: 'p', value: 'PORT', about: `where it listens (${defaultPort}); 0 takes a free one` },
    host: { type: 'string', value: 'HOST', about: 'on which address (127.0.0.1)' },
    ...chainOptions,
    store: {
      type: 'string',
      value: 'FILE',
      completes: 'file',
      about: 'where settlements are written down (~/.latchkey/facilitator.db)',
    },
    'pay-to': {
      type: 'string',
      multiple: true,
      value: 'ADDRESS',
      about: 'settle only for this seller; may be given several times',
    },
    asset: {
      type: 'string',
      multiple: true,
      value: 'ID',
      about: 'settle only in this asset; may be given several times',
    },
    rate: { type: 'string', value: 'N', about: 'requests a minute for each seller' },
    'fee-budget': { type: 'string', value: 'MICRO', about: 'microAlgos of fees a day for each seller' },
    'total-fee-budget': { type: 'string', value: 'MICRO', about: 'microAlgos of fees a day for all of them' },
    'api-keys-file': {
      type: 'string',
      value: 'FILE',
      completes: 'file',
      about: 'what callers must send, one of the keys in this file, a line each',
    },
    open: { type: 'boolean', about: 'on mainnet: really settle for anybody' },
    ...signerOptions,
    ...jsonOption,
  },
  notes: `${signerNotes} It pays the fees; without any, buyers pay their own. The keys of callers may also be in FACILITATOR_API_KEYS, \
separated by commas; ALGOD_TOKEN is sent to the nodes.`,
  examples: [
    'latchkey facilitator --network testnet --wallet fees --key ADDRESS --password-file /run/secrets/fees',
    'AVM_MNEMONIC="..." latchkey facilitator --network local --node http://127.0.0.1:4001 --dollar 31566704',
  ],
  ends: ['unreachable', 'password'],
  run: async ({ options }) => {
    const network = networkOf(options, process.env)
    const port = readNumber('--port', options.port, 0, 65_535) ?? defaultPort
    const host = options.host ?? '127.0.0.1'
    const policy = readPolicy(options)
    if (isMainnet(network) && !options.open) checkForProduction(policy)
    const feePayer = signerFrom(options, process.env)
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
})

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
  'total-fee-budget'?: string | undefined
  'api-keys-file'?: string | undefined
}

function readPolicy(options: Options): PolicyOptions {
  const keys = readApiKeys(options['api-keys-file'])
  return {
    payTo: options['pay-to'],
    assets: options.asset,
    apiKeys: keys.length === 0 ? undefined : keys,
    requestsPerMinute: options.rate === undefined ? undefined : Number(readWhole('--rate', options.rate)),
    feeMicroAlgosPerDay:
      options['fee-budget'] === undefined ? undefined : BigInt(readWhole('--fee-budget', options['fee-budget'])),
    totalFeeMicroAlgosPerDay:
      options['total-fee-budget'] === undefined
        ? undefined
        : BigInt(readWhole('--total-fee-budget', options['total-fee-budget'])),
  }
}

/** From a file, a line each; or from the environment, separated by commas. A file without any is a mistake. */
function readApiKeys(path: string | undefined): string[] {
  const text = path === undefined ? (process.env['FACILITATOR_API_KEYS'] ?? '') : readFileSync(path, 'utf8')
  const keys = text
    .split(/[,\n]/)
    .map((key) => key.trim())
    .filter((key) => key !== '')
  if (path !== undefined && keys.length === 0) throw new UsageError(`${path} holds no key`)
  return keys
}

/** By whichever of its names. */
function isMainnet(network: string): boolean {
  return network === Network.mainnet.name || Network.matches(network, Network.mainnet.caip2)
}

/** Real money: whoever runs this says for whom, or that it is for everybody. */
function checkForProduction({ payTo, apiKeys, feeMicroAlgosPerDay }: PolicyOptions): void {
  const isFor = payTo !== undefined || apiKeys !== undefined
  if (isFor && feeMicroAlgosPerDay !== undefined) return
  throw new UsageError(
    'on mainnet say for whom it settles (--pay-to, or --api-keys-file) and up to which fees a day (--fee-budget), or --open',
  )
}

function defaultStore(): string {
  const directory = join(homedir(), '.latchkey')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return join(directory, 'facilitator.db')
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
