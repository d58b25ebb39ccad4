/** `latchkey facilitator`: runs an x402 facilitator in the foreground. */
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Address, Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler, Facilitator, type PolicyOptions } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { command, jsonOption, readInteger, readNumber } from '../Command.js'
import { chainOptions, networkOf, openChain } from '../chain.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { counted, quoted } from '../format.js'
import { explainListenError } from '../listenErrors.js'
import { describe, printJson, printResult, printWarning } from '../messages.js'
import { logFileOptions, openServerLog } from '../serverLog.js'
import { startUnderSignals } from '../signals.js'
import { signerFrom, signerNotes, signerOptions } from '../signer.js'
import { version } from '../version.js'

const defaultPort = 4022
/** As the handler's own limit. */
const maxBodyBytes = 128 * 1024

export const facilitatorCommand = command({
  description: `Runs an x402 facilitator until Ctrl-C or SIGTERM: POST /verify, POST /settle, GET /supported, /health and /metrics. Every settlement \
is recorded before it is sent, and resumed after a restart. It does not start with a key that cannot sign.`,
  options: {
    port: { type: 'string', short: 'p', placeholder: 'PORT', description: `port (${defaultPort}); 0 for a free one` },
    host: { type: 'string', placeholder: 'HOST', description: 'address to listen on (127.0.0.1)' },
    ...chainOptions,
    store: {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'database of settlements (~/.latchkey/facilitator.db)',
    },
    'pay-to': {
      type: 'string',
      multiple: true,
      placeholder: 'ADDRESS',
      description: 'settle only for this seller; repeat it for more',
    },
    asset: {
      type: 'string',
      multiple: true,
      placeholder: 'ID',
      description: 'settle only in this asset; repeat it for more',
    },
    rate: {
      type: 'string',
      placeholder: 'N',
      description: 'settled payments per minute and seller, of which one payer can have half',
    },
    'caller-rate': {
      type: 'string',
      placeholder: 'N',
      description: 'requests per minute of one caller, by API key or address',
    },
    'client-ip-header': {
      type: 'string',
      placeholder: 'NAME',
      description: 'header in which a proxy names the address of the caller',
    },
    'min-amount': {
      type: 'string',
      placeholder: 'UNITS',
      description: 'pay the fee only for payments of at least so many base units',
    },
    'fee-budget': { type: 'string', placeholder: 'MICRO', description: 'microAlgos of fees per day and seller' },
    'total-fee-budget': { type: 'string', placeholder: 'MICRO', description: 'microAlgos of fees per day in total' },
    'api-keys-file': {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'file of API keys, one per line, of which callers must send one',
    },
    open: { type: 'boolean', description: 'on MainNet: settle for any seller' },
    ...signerOptions,
    ...logFileOptions,
    ...jsonOption,
  },
  notes: `${signerNotes} It pays the fees; without one, buyers pay their own. API keys can also be in FACILITATOR_API_KEYS, separated by \
commas; ALGOD_TOKEN is the token of the nodes.`,
  examples: [
    'latchkey facilitator --network testnet --wallet fees --key ADDRESS --password-file /run/secrets/fees',
    'AVM_MNEMONIC="..." latchkey facilitator --network local --node http://127.0.0.1:4001 --dollar 31566704',
  ],
  exits: ['unreachable', 'password'],
  run: async ({ options }) => {
    const network = networkOf(options, process.env)
    const port = readNumber('--port', options.port, 0, 65_535) ?? defaultPort
    const host = options.host ?? '127.0.0.1'
    const policy = readPolicy(options)
    const clientAddress = addressFrom(options['client-ip-header'])
    if (isMainnet(network) && !options.open) checkForProduction(policy)
    const feePayer = signerFrom(options, process.env)
    const chain = await openChain(options, process.env)
    const store = new SqliteSettlements(options.store ?? defaultStore())
    const log = openServerLog(options)
    const onError = (error: unknown): void => log.write('error', describe(error))
    const facilitator = new Facilitator({ chains: [chain], feePayer, store, policy, onError })
    const server = new Server({
      fetch: createFacilitatorHandler({ facilitator, onError, clientAddress }),
      onError,
      onRequest: (record) => log.request(record),
      limits: { bodyBytes: maxBodyBytes },
    })
    await facilitator.checkFeePayer()
    const start = async (): Promise<RunningFacilitator> => {
      const resumed = await facilitator.resume()
      const address = await server.listen(host, port).catch((error: unknown) => {
        throw explainListenError(error, { host, port })
      })
      return new RunningFacilitator(`http://${host}:${address.port}`, resumed, server, facilitator)
    }
    const running = await startUnderSignals(start, { onHangup: () => log.reopen() })
    const account = feePayer === undefined ? undefined : (feePayer.sender ?? feePayer.address)
    const facts = {
      version,
      url: running.url,
      network: chain.caip2,
      feePayer: account ?? null,
      resumed: running.resumed,
    }
    if (options.json) printJson({ ...facts, pid: process.pid })
    else printResult(block(facts))
    const fault = await facilitator.health()
    if (fault !== undefined) printWarning(fault)
    await running.stopped
    await log.close()
    return exitCodes.ok
  },
})

class RunningFacilitator {
  readonly url: string
  readonly resumed: number
  readonly stopped: Promise<void>
  readonly #stop: () => Promise<void>
  #resolveStopped!: (stopping: Promise<void>) => void

  constructor(url: string, resumed: number, server: Server, facilitator: Facilitator) {
    this.url = url
    this.resumed = resumed
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve
    })
    this.#stop = async () => {
      await server.stop()
      await facilitator.stop()
    }
  }

  stop(): Promise<void> {
    const stopping = this.#stop()
    this.#resolveStopped(stopping)
    return stopping
  }
}

type Options = {
  'pay-to'?: string[] | undefined
  asset?: string[] | undefined
  rate?: string | undefined
  'caller-rate'?: string | undefined
  'min-amount'?: string | undefined
  'fee-budget'?: string | undefined
  'total-fee-budget'?: string | undefined
  'api-keys-file'?: string | undefined
}

function readPolicy(options: Options): PolicyOptions {
  const keys = readApiKeys(options['api-keys-file'])
  return {
    payTo: checkedEach('--pay-to', options['pay-to'], Address.isValid, 'an Algorand address'),
    assets: checkedEach('--asset', options.asset, (id) => /^(0|[1-9][0-9]{0,19})$/.test(id), 'the id of an asset'),
    apiKeys: keys.length === 0 ? undefined : keys,
    requestsPerMinute: readNumber('--rate', options.rate, 0, 1_000_000_000),
    callerRequestsPerMinute: readNumber('--caller-rate', options['caller-rate'], 0, 1_000_000_000),
    minSponsoredAmount: readInteger('--min-amount', options['min-amount']),
    feeMicroAlgosPerDay: readInteger('--fee-budget', options['fee-budget']),
    totalFeeMicroAlgosPerDay: readInteger('--total-fee-budget', options['total-fee-budget']),
  }
}

/** A value that matches no payment would refuse all of them, without a word at the start. */
function checkedEach(
  option: string,
  values: string[] | undefined,
  isValid: (value: string) => boolean,
  kind: string,
): string[] | undefined {
  const wrong = values?.find((value) => !isValid(value))
  if (wrong === undefined) return values
  throw new UsageError(`${option} ${quoted(wrong)} is not ${kind}`, { code: 'invalid_value' })
}

type ClientAddress = (request: Request) => string | undefined

/**
 * The last element: proxies append the address that connected to them, and what is before it is what the client claims.
 * Without a header, the address of the connection counts.
 */
function addressFrom(header: string | undefined): ClientAddress | undefined {
  if (header === undefined) return undefined
  if (!/^[A-Za-z0-9-]+$/.test(header)) throw new UsageError('--client-ip-header is not the name of a header')
  return ({ headers }) => headers.get(header)?.split(',').at(-1)?.trim()
}

/** From the file, one per line, or from the environment, separated by commas. An empty file is an error. */
function readApiKeys(path: string | undefined): string[] {
  const text = path === undefined ? (process.env['FACILITATOR_API_KEYS'] ?? '') : readText(path)
  const keys = text
    .split(/[,\n]/)
    .map((key) => key.trim())
    .filter((key) => key !== '')
  if (path !== undefined && keys.length === 0) throw new UsageError(`${path} contains no key`)
  return keys
}

function isMainnet(network: string): boolean {
  return network === Network.mainnet.name || Network.matches(network, Network.mainnet.caip2)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandError('file_unreadable', `the API keys cannot be read: ${(cause as Error).message}`, { cause })
  }
}

/** With real money, an open facilitator without a limit has to be an explicit choice. */
function checkForProduction({ payTo, apiKeys, feeMicroAlgosPerDay }: PolicyOptions): void {
  const isRestricted = payTo !== undefined || apiKeys !== undefined
  if (isRestricted && feeMicroAlgosPerDay !== undefined) return
  throw new UsageError('on MainNet the sellers and the fees have to be limited', {
    hint: 'give --pay-to or --api-keys-file, and --fee-budget; or --open for any seller',
  })
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
  Network   ${Network.displayName(network)}, ${network}
  Fees      ${feePayer === null ? 'paid by the buyers' : `paid by ${feePayer}`}
  Pending   ${resumed === 0 ? 'nothing' : `${counted(resumed, 'settlement')} resumed`}

Try it:
  curl -s ${url}/supported

`
}
