/** `latchkey devnet`: runs a development ledger in the foreground and prints how to use it. */
import { Network } from '@latchkey/algorand'
import { type BlockMode, type DevAccount, Devnet, DevnetError, defaultPort, version } from '@latchkey/devnet'
import type { Log } from '@latchkey/system/log'
import { command, jsonOption, readNumber } from '../Command.js'
import { checkToken, writeGoalDirectory } from '../dev/goalDirectory.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printable, shellWord } from '../format.js'
import { explainListenError } from '../listenErrors.js'
import { printJson, printMessage, printResult, printWarning } from '../messages.js'
import { type LogValues, logFileOptions, openServerLog } from '../serverLog.js'
import { startUnderSignals } from '../signals.js'

export const devnetCommand = command({
  description: `Run an Algorand ledger for development until Ctrl-C or SIGTERM. Clients use it like an algod in dev mode. Its funded accounts have \
published private keys; nothing on it has any value.`,
  options: {
    port: { type: 'string', short: 'p', placeholder: 'PORT', description: `port (${defaultPort}); 0 for a free one` },
    host: { type: 'string', placeholder: 'HOST', description: 'address to listen on (127.0.0.1)' },
    'indexer-port': {
      type: 'string',
      placeholder: 'PORT',
      description: 'also serve the indexer API on PORT; 0 for a free one (not served)',
    },
    token: {
      type: 'string',
      placeholder: 'TOKEN',
      description: 'token that clients must send as X-Algo-API-Token (none)',
    },
    'block-time': {
      type: 'string',
      placeholder: 'MS',
      description: 'make a block every MS milliseconds instead of one per submission',
    },
    'no-mining': { type: 'boolean', description: 'make blocks only on request (POST /devnet/mine)' },
    accounts: {
      type: 'string',
      short: 'a',
      placeholder: 'N',
      description: 'number of funded accounts besides the dispenser (5)',
    },
    'genesis-hash': {
      type: 'string',
      placeholder: 'HASH',
      description: `report HASH (base64) instead of its own genesis hash, for clients that know only a public network. \
Transactions signed here can then be valid on that network`,
    },
    'genesis-id': {
      type: 'string',
      placeholder: 'ID',
      description: 'report ID instead of dockernet-v1 or the id of the network whose hash is given',
    },
    state: {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'keep the ledger in FILE, which survives kill -9',
    },
    load: { type: 'string', placeholder: 'FILE', completes: 'file', description: 'start from a dump' },
    dump: { type: 'string', placeholder: 'FILE', completes: 'file', description: 'write a dump on exit' },
    history: { type: 'string', placeholder: 'N', description: 'number of latest blocks to keep (10000)' },
    archival: { type: 'boolean', description: 'keep all blocks, in memory' },
    'goal-dir': {
      type: 'string',
      placeholder: 'DIR',
      completes: 'directory',
      description: 'write a data directory for goal (goal -d DIR)',
    },
    verbose: { type: 'boolean', short: 'v', description: 'print a line for every transaction on stderr' },
    ...logFileOptions,
    ...jsonOption,
  },
  examples: [
    'latchkey devnet',
    'latchkey devnet --state ledger.log --block-time 1000 --verbose',
    `curl -s -d '{"address":"...","algos":10,"dollars":5}' http://127.0.0.1:${defaultPort}/devnet/fund`,
  ],
  run: async ({ options }) => {
    if (options['goal-dir'] !== undefined) checkToken(options.token)
    if (options.archival && options.history !== undefined)
      throw new UsageError('give --archival or --history, not both')
    const blocks = readBlockMode(options['block-time'], options['no-mining'] ?? false)
    const indexerPort = readNumber('--indexer-port', options['indexer-port'], 0, 65_535)
    const log = openServerLog(options)
    const start = (): Promise<Devnet> =>
      Devnet.start({
        port: readNumber('--port', options.port, 0, 65_535),
        host: options.host,
        indexer: indexerPort === undefined ? false : { port: indexerPort },
        token: options.token,
        blocks,
        accounts: readNumber('--accounts', options.accounts, 0, 100),
        genesisHash: options['genesis-hash'],
        genesisId: options['genesis-id'],
        stateFile: options.state,
        historyBlocks: readNumber('--history', options.history, 1, 10_000_000),
        archival: options.archival,
        onLine: options.verbose ? lineWriter(options, log) : undefined,
        onError: (error) => log.write('error', (error as Error).stack ?? String(error)),
        onRequest: (record) => log.request(record),
      })
    const devnet = await startUnderSignals(start, { onHangup: () => log.reopen() }).catch((error: unknown) =>
      explain(error, options.host ?? '127.0.0.1', indexerPort),
    )
    if (options['genesis-hash'] !== undefined) warnOfGivenHash(devnet)
    if (options.load !== undefined) await loadDump(devnet, options.load)
    const removeGoalAddress = await writeGoalDirectoryOf(devnet, options['goal-dir'])
    if (options.json) printJson(facts(devnet, blocks))
    else printResult(block(devnet, blocks))
    if (options.host !== undefined && !/^(127\.|localhost$|::1$)/.test(options.host)) {
      printWarning(`${devnet.url} can be reached from other machines, and the devnet's private keys are public`)
    }
    // Runs even if the state file could not be written, because nothing listens there anymore.
    await devnet.stopped.finally(removeGoalAddress).finally(() => log.close())
    if (options.dump !== undefined) await devnet.dumpTo(options.dump)
    return exitCodes.ok
  },
})

/** If a program collects the log, all of its lines must have the same format. */
function lineWriter(options: LogValues, log: Log): (line: string) => void {
  const isCollected = options['log-file'] !== undefined || options['log-format'] === 'json'
  return isCollected ? (line) => log.write('info', line.replace(/ +/g, ' ').trim()) : printMessage
}

function explain(cause: unknown, host: string, indexerPort: number | undefined): never {
  if (!(cause instanceof DevnetError) || !['address_in_use', 'listen_failed'].includes(cause.code)) throw cause
  const port = Number(/port ([0-9]+)/.exec(cause.message)?.[1])
  const option = port === indexerPort ? '--indexer-port' : '--port'
  throw explainListenError(cause, { host, port, cure: `give another with ${option}, or 0 for a free one` })
}

/** Printed first: signatures for a devnet are worthless elsewhere, unless it has a given genesis hash. */
function warnOfGivenHash({ genesisHash }: Devnet): void {
  const name =
    Network.known.find((network) => network.genesisHash === genesisHash)?.name ?? 'the network with this hash'
  printWarning(`this devnet reports the genesis hash of ${name}: transactions signed for it can also be valid there`)
  printWarning(`never sign here with a key that holds funds on ${name}`)
}

async function loadDump(devnet: Devnet, path: string): Promise<void> {
  try {
    await devnet.loadFrom(path)
  } catch (cause) {
    await devnet.stop()
    throw new CommandError('invalid_file', `${path} could not be loaded: ${(cause as Error).message}`, { cause })
  }
}

async function writeGoalDirectoryOf(devnet: Devnet, directory: string | undefined): Promise<() => void> {
  if (directory === undefined) return () => undefined
  try {
    return writeGoalDirectory(directory, devnet)
  } catch (error) {
    await devnet.stop()
    throw error
  }
}

function readBlockMode(blockTime: string | undefined, isManual: boolean): BlockMode {
  if (blockTime !== undefined && isManual) throw new UsageError('give --block-time or --no-mining, not both')
  if (isManual) return 'manual'
  const everyMs = readNumber('--block-time', blockTime, 1, 3_600_000)
  return everyMs === undefined ? 'instant' : { everyMs }
}

/** For clients that require a token. Without --token any token is accepted. */
const anyToken = 'a'.repeat(64)

function facts(devnet: Devnet, blocks: BlockMode) {
  const { url, indexerUrl, token, genesisId, genesisHash, dispenser, onlineAccounts, faucet, accounts, dollarIds } =
    devnet
  const { hostname, port } = new URL(url)
  return {
    version,
    url,
    ...(indexerUrl !== undefined && { indexerUrl }),
    token: token ?? null,
    genesisId,
    genesisHash,
    network: Network.caip2(genesisHash),
    blocks,
    dollarAssetIds: dollarIds.map(Number),
    dispenser,
    onlineAccounts,
    faucet,
    accounts,
    environment: {
      ALGOD_SERVER: `http://${hostname}`,
      ALGOD_PORT: port,
      ALGOD_TOKEN: token ?? anyToken,
      ...(indexerUrl !== undefined && indexerEnvironment(indexerUrl, token ?? anyToken)),
      DISPENSER_MNEMONIC: dispenser.mnemonic,
    },
    pid: process.pid,
  }
}

function indexerEnvironment(indexerUrl: string, token: string): { [name: string]: string } {
  const { hostname, port } = new URL(indexerUrl)
  return { INDEXER_SERVER: `http://${hostname}`, INDEXER_PORT: port, INDEXER_TOKEN: token, INDEXER_URL: indexerUrl }
}

function block(devnet: Devnet, mode: BlockMode): string {
  const { url, token, genesisId, genesisHash, network, dispenser, accounts, dollarAssetIds, environment } = facts(
    devnet,
    mode,
  )
  const header = token === null ? '' : ` -H ${shellWord(`X-Algo-API-Token: ${token}`)}`
  const lines = Object.entries(environment).map(([name, value]) => `  export ${name}=${shellWord(value)}`)
  return `Latchkey devnet ${version}, an Algorand ledger for development

  Address   ${url}${devnet.indexerUrl === undefined ? '' : `\n  Indexer   ${devnet.indexerUrl}`}
  Token     ${printable(token ?? 'none needed')}
  Genesis   ${genesisId}, ${genesisHash}
  Network   ${Network.displayName(network)}, ${network}
  Dollars   assets ${dollarAssetIds.join(' and ')}, 6 decimals
  Blocks    ${blocksText(mode)}

Accounts, for development only: these keys are public. Address, mnemonic, key in base64:

${[...devnet.onlineAccounts, devnet.faucet, ...accounts].map(accountText).join('\n\n')}

Environment:
${lines.join('\n')}

Try it:
  curl -s${header} ${url}/v2/status
  curl -s${header} -d '{"address":"${accounts[0]?.address ?? dispenser.address}","algos":10,"dollars":5}' ${url}/devnet/fund

`
}

function blocksText(mode: BlockMode): string {
  if (mode === 'instant') return 'one per submission, before the response'
  return mode === 'manual' ? 'on request: POST /devnet/mine' : `every ${mode.everyMs} ms`
}

function accountText({ name, address, mnemonic, secretKey }: DevAccount): string {
  return `  ${name}\n    ${address}\n    ${mnemonic}\n    ${secretKey}`
}
