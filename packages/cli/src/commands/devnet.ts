/** `latchkey devnet`: a ledger for development in the foreground, with everything one needs next on the screen. */
import { Network } from '@latchkey/algorand'
import { type BlockMode, type DevAccount, Devnet, DevnetError, defaultPort, version } from '@latchkey/devnet'
import { command, jsonOption, readNumber, UsageError } from '../Command.js'
import { exitCodes } from '../exitCodes.js'
import { shellWord } from '../printable.js'
import { startUnderSignals } from '../signals.js'

export const devnetCommand = command({
  text: `Runs an Algorand ledger for development until it is told to stop (Ctrl-C, SIGTERM). Clients take it for an algod in dev mode. \
It has funded accounts whose keys everybody knows; nothing on it is worth anything.`,
  options: {
    port: { type: 'string', short: 'p', value: 'PORT', about: `where it listens (${defaultPort}); 0 takes a free one` },
    host: { type: 'string', value: 'HOST', about: 'on which address (127.0.0.1)' },
    token: {
      type: 'string',
      value: 'TOKEN',
      about: 'what clients must send as X-Algo-API-Token; without it they need none',
    },
    'block-time': {
      type: 'string',
      value: 'MS',
      about: 'a block every MS milliseconds, instead of one for each submission',
    },
    'no-mining': { type: 'boolean', about: 'blocks only when asked for (POST /devnet/mine)' },
    accounts: { type: 'string', short: 'a', value: 'N', about: 'how many funded accounts beside the dispenser (5)' },
    state: {
      type: 'string',
      value: 'FILE',
      completes: 'file',
      about: 'keep everything in FILE, so that it survives even kill -9',
    },
    load: { type: 'string', value: 'FILE', completes: 'file', about: 'begin with a dump' },
    dump: { type: 'string', value: 'FILE', completes: 'file', about: 'write a dump when it stops' },
    history: { type: 'string', value: 'N', about: 'how many of the latest blocks to keep (10000)' },
    verbose: { type: 'boolean', short: 'v', about: 'a line for every transaction, on stderr' },
    ...jsonOption,
  },
  examples: [
    'latchkey devnet',
    'latchkey devnet --state ledger.log --block-time 1000 --verbose',
    `curl -s -d '{"address":"...","algos":10,"dollars":5}' http://127.0.0.1:${defaultPort}/devnet/fund`,
  ],
  run: async ({ options }) => {
    const blocks = readBlockMode(options['block-time'], options['no-mining'] ?? false)
    const devnet = await startUnderSignals(() =>
      Devnet.start({
        port: readNumber('--port', options.port, 0, 65_535),
        host: options.host,
        token: options.token,
        blocks,
        accounts: readNumber('--accounts', options.accounts, 0, 100),
        stateFile: options.state,
        historyBlocks: readNumber('--history', options.history, 1, 10_000_000),
        onLine: options.verbose ? (line) => process.stderr.write(`${line}\n`) : undefined,
        onError: (error) => process.stderr.write(`latchkey devnet: ${(error as Error).stack ?? error}\n`),
      }),
    ).catch((error: unknown) => explain(error, options.port))
    if (options.load !== undefined) await loadDump(devnet, options.load)
    process.stdout.write(options.json ? `${JSON.stringify(facts(devnet, blocks))}\n` : block(devnet, blocks))
    if (options.host !== undefined && !/^(127\.|localhost$|::1$)/.test(options.host)) {
      process.stderr.write(
        `warning: ${devnet.url} can be reached from other machines; its keys are known to everybody\n`,
      )
    }
    await devnet.stopped
    if (options.dump !== undefined) await devnet.dumpTo(options.dump)
    return exitCodes.ok
  },
})

function explain(error: unknown, port: string | undefined): never {
  if (!(error instanceof DevnetError) || error.code !== 'address_in_use') throw error
  throw new Error(`port ${port ?? defaultPort} is in use; give another with --port, or 0 for any that is free`)
}

async function loadDump(devnet: Devnet, path: string): Promise<void> {
  try {
    await devnet.loadFrom(path)
  } catch (error) {
    await devnet.stop()
    throw new Error(`${path} was not loaded: ${(error as Error).message}`)
  }
}

function readBlockMode(blockTime: string | undefined, isManual: boolean): BlockMode {
  if (blockTime !== undefined && isManual) throw new UsageError('--block-time and --no-mining exclude each other')
  if (isManual) return 'manual'
  const everyMs = readNumber('--block-time', blockTime, 1, 3_600_000)
  return everyMs === undefined ? 'instant' : { everyMs }
}

/** What clients that insist on a token are given where none is asked for. */
const anyToken = 'a'.repeat(64)

function facts(devnet: Devnet, blocks: BlockMode) {
  const { url, token, genesisId, genesisHash, dispenser, accounts, dollarIds } = devnet
  const { hostname, port } = new URL(url)
  return {
    version,
    url,
    token: token ?? null,
    genesisId,
    genesisHash,
    network: Network.caip2(genesisHash),
    blocks,
    dollarAssetIds: dollarIds.map(Number),
    dispenser,
    accounts,
    environment: {
      ALGOD_SERVER: `http://${hostname}`,
      ALGOD_PORT: port,
      ALGOD_TOKEN: token ?? anyToken,
      DISPENSER_MNEMONIC: dispenser.mnemonic,
    },
    pid: process.pid,
  }
}

function block(devnet: Devnet, mode: BlockMode): string {
  const { url, token, genesisId, genesisHash, network, dispenser, accounts, dollarAssetIds, environment } = facts(
    devnet,
    mode,
  )
  const header = token === null ? '' : ` -H "X-Algo-API-Token: ${token}"`
  const lines = Object.entries(environment).map(([name, value]) => `  export ${name}=${shellWord(value)}`)
  return `Latchkey devnet ${version}, an Algorand ledger for development

  Address   ${url}
  Token     ${token ?? 'none needed'}
  Genesis   ${genesisId}, ${genesisHash}
  Network   ${network}
  Dollars   assets ${dollarAssetIds.join(' and ')}, 6 decimals
  Blocks    ${blocksText(mode)}

Accounts, for development only: everybody knows these keys. Address, mnemonic, key in base64:

${[dispenser, ...accounts].map(accountText).join('\n\n')}

Environment:
${lines.join('\n')}

Try it:
  curl -s${header} ${url}/v2/status
  curl -s${header} -d '{"address":"${accounts[0]?.address ?? dispenser.address}","algos":10,"dollars":5}' ${url}/devnet/fund

`
}

function blocksText(mode: BlockMode): string {
  if (mode === 'instant') return 'one for each submission, before it is answered'
  return mode === 'manual' ? 'when asked for: POST /devnet/mine' : `every ${mode.everyMs} ms`
}

function accountText({ name, address, mnemonic, secretKey }: DevAccount): string {
  return `  ${name}\n    ${address}\n    ${mnemonic}\n    ${secretKey}`
}
