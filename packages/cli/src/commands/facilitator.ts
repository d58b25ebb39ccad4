/** `latchkey facilitator`: runs an x402 facilitator in the foreground. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import {
  createFacilitatorHandler,
  type ErrorListener,
  Facilitator,
  type SettlementStore,
} from '@latchkey/x402/facilitator'
import { command, jsonOption, readNumber } from '../Command.js'
import { chainOptions, checkNodes, isMainnet, networkOf, openChain, quorumOption } from '../chain.js'
import { exitCodes } from '../exitCodes.js'
import { discoveryOptions, readDiscovery, readNetworkIds } from '../facilitator/discovery.js'
import { feePayerNotes, feePayerOptions, feePayersFrom } from '../facilitator/feePayers.js'
import { addressFrom, checkForProduction, policyOptions, readPolicy } from '../facilitator/policy.js'
import { drainOptions, drainTimesFrom, RunningFacilitator } from '../facilitator/RunningFacilitator.js'
import { type StoreAddress, storeFrom, storeNotes, storeOptions } from '../facilitator/StoreAddress.js'
import { counted } from '../format.js'
import { explainListenError } from '../listenErrors.js'
import { describe, printJson, printResult, printWarning } from '../messages.js'
import { logFileOptions, openServerLog } from '../serverLog.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

const defaultPort = 4022
/** The same as the handler's limit. */
const maxBodyBytes = 128 * 1024
const checkMs = 15_000

export const facilitatorCommand = command({
  description: `Run an x402 facilitator until Ctrl-C or SIGTERM: POST /verify, POST /settle, GET /supported, /livez, /readyz, /health and \
/metrics, and with --discovery GET /discovery/resources and /discovery/search. Every settlement is recorded before it is sent, and resumed after a restart. If fee accounts are given but none of them can \
sign, the facilitator does not start. On SIGTERM it reports not ready, finishes pending work and exits; on a second signal it exits at once.`,
  options: {
    port: { type: 'string', short: 'p', placeholder: 'PORT', description: `port (${defaultPort}); 0 for a free one` },
    host: { type: 'string', placeholder: 'HOST', description: 'address to listen on (127.0.0.1)' },
    ...chainOptions,
    ...quorumOption,
    ...storeOptions,
    ...policyOptions,
    ...discoveryOptions,
    ...feePayerOptions,
    ...drainOptions,
    ...logFileOptions,
    ...jsonOption,
  },
  notes: `${feePayerNotes} Without a fee account, buyers pay their own fees. ${storeNotes} API keys can also be in FACILITATOR_API_KEYS, separated by \
commas. ALGOD_TOKEN is the nodes' API token.`,
  examples: [
    'latchkey facilitator --network testnet --wallet fees --key ADDRESS --password-file /run/secrets/fees',
    'latchkey facilitator --network testnet --store postgres://facilitator@db.example/latchkey --wallet fees --key A --key B',
    'latchkey facilitator --network mainnet --node https://a.example --node https://b.example --quorum 2 --pay-to ADDRESS --fee-budget 1000000',
    'AVM_MNEMONIC="..." latchkey facilitator --network local --node http://127.0.0.1:4001 --dollar 31566704',
  ],
  exits: ['unreachable', 'password', 'interrupted'],
  run: async ({ options }) => {
    const network = networkOf(options, process.env)
    const port = readNumber('--port', options.port, 0, 65_535) ?? defaultPort
    const host = options.host ?? '127.0.0.1'
    const policy = readPolicy(options)
    const discovery = readDiscovery(options)
    const networkIds = readNetworkIds(options)
    const clientAddress = addressFrom(options['client-ip-header'])
    if (isMainnet(network) && !options.open) checkForProduction(policy)
    const where = storeFrom(options, process.env)
    const times = drainTimesFrom(options, where.type === 'postgres')
    const feePayer = feePayersFrom(options, process.env)
    const chain = await openChain(options, process.env)
    await checkNodes(chain, options, process.env)
    const { store, name } = await openStore(where)
    const log = openServerLog(options)
    const onError: ErrorListener = (error, { requestId, transactionId } = {}) =>
      log.write('error', describe(error), { request_id: requestId, payment: transactionId })
    const facilitator = new Facilitator({ chains: [chain], feePayer, store, policy, discovery, networkIds, onError })
    const server = new Server({
      fetch: createFacilitatorHandler({ facilitator, onError, clientAddress }),
      onError,
      onRequest: (record) => log.request(record),
      limits: { bodyBytes: maxBodyBytes },
    })
    const start = async (): Promise<RunningFacilitator> => {
      await facilitator.checkFeePayer()
      const resumed = await facilitator.resume()
      const { port: bound } = await server.listen(host, port).catch((error: unknown) => {
        throw explainListenError(error, { host, port })
      })
      const onStep = (text: string): void => log.write('info', text)
      const url = `http://${host}:${bound}`
      return new RunningFacilitator({ url, resumed, server, facilitator, times, onStep })
    }
    const signals = { onHangup: () => log.reopen(), onSignal: stopOrEnd, secondEndsStart: true }
    const running = await startUnderSignals(start, signals).catch(async (error: unknown) => {
      // Open database connections would keep the process running.
      await facilitator.stop().catch(onError)
      throw error
    })
    const facts = {
      version,
      url: running.url,
      network: chain.caip2,
      feePayer: [...facilitator.feePayers][0] ?? null,
      feePayers: [...facilitator.feePayers],
      store: name,
      resumed: running.resumed,
    }
    if (options.json) printJson({ ...facts, pid: process.pid })
    else printResult(block(facts))
    // Replicas compare their settings with every check, even if nothing probes them.
    if (where.type === 'postgres') setInterval(() => void facilitator.status(), checkMs).unref()
    const { problem, warnings } = await facilitator.status()
    for (const text of problem === undefined ? warnings : [problem, ...warnings]) printWarning(text)
    const isDone = await running.stopped
    await log.close()
    // A database that does not answer would keep the process running.
    if (!isDone) process.exit(exitCodes.failed)
    return exitCodes.ok
  },
})

/** The second signal loses no recorded data: the next process, or another replica, continues. */
function stopOrEnd(running: RunningFacilitator, signal: NodeJS.Signals): void {
  if (running.isStopping) process.exit(exitCodes.interrupted)
  void running.stop({ isUrgent: signal === 'SIGINT' }).catch(() => {})
}

type Facts = {
  readonly url: string
  readonly network: string
  readonly feePayers: readonly string[]
  readonly store: string
  readonly resumed: number
}

function block({ url, network, feePayers, store, resumed }: Facts): string {
  const [payer, ...others] = feePayers
  const fees =
    payer === undefined ? ['paid by the buyers'] : [`paid by ${payer}`, ...others.map((one) => `   or by ${one}`)]
  return `Latchkey facilitator ${version}

  Address   ${url}
  Network   ${Network.displayName(network)}, ${network}
  Fees      ${fees.join('\n            ')}
  Store     ${store}
  Pending   ${resumed === 0 ? 'nothing' : `${counted(resumed, 'settlement')} resumed`}

Try it:
  curl -s ${url}/supported

`
}

type OpenStore = {
  readonly store: SettlementStore
  /** For messages, without user and password. */
  readonly name: string
}

/** Opens the settlements, and updates their tables if the role may do that. */
async function openStore(where: StoreAddress): Promise<OpenStore> {
  if (where.type === 'postgres') return openPostgres(where.address)
  const { SqliteSettlements } = await import('@latchkey/x402/sqlite')
  if (where.isDefault) mkdirSync(dirname(where.path), { recursive: true, mode: 0o700 })
  return { store: new SqliteSettlements(where.path), name: where.path }
}

async function openPostgres(address: string): Promise<OpenStore> {
  const { PostgresSettlements } = await import('@latchkey/x402/postgres')
  try {
    const store = await PostgresSettlements.open({ address, applicationName: 'latchkey facilitator' })
    return { store, name: `PostgreSQL, ${store.server}` }
  } catch (error) {
    const { explainStoreError } = await import('../facilitator/storeErrors.js')
    throw explainStoreError(error)
  }
}
