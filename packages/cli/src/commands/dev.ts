/** `latchkey dev`: runs everything that a paid request needs, until Ctrl-C or for as long as a program runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import { command, type Values } from '../Command.js'
import { type CleanupProcess, startCleanupProcess } from '../dev/CleanupProcess.js'
import { runDemo } from '../dev/demo.js'
import { EventPrinter } from '../dev/EventPrinter.js'
import { environmentOf } from '../dev/environment.js'
import { addressLines, storyLine, title } from '../dev/firstScreen.js'
import * as ProcessGroup from '../dev/ProcessGroup.js'
import { Stack } from '../dev/Stack.js'
import * as StackDirectory from '../dev/StackDirectory.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printError, printJson, printStyledLine } from '../messages.js'
import { startUnderSignals } from '../signals.js'
import { buyerWallet, defaultWallet, token } from '../stack/stackValues.js'
import { defaultStackDirectory } from '../stack/stateDirectory.js'
import type { Span } from '../style.js'
import { version } from '../version.js'

const devOptions = {
  fresh: {
    type: 'boolean',
    description: 'start over with a new ledger and new keys; the old files are moved to the directory "previous"',
  },
  ephemeral: {
    type: 'boolean',
    description: 'use a temporary directory and remove it at the end, such as in CI; implied by -- COMMAND',
  },
  dir: {
    type: 'string',
    placeholder: 'DIR',
    completes: 'directory',
    description: 'directory for ledger, keys and payments (~/.local/state/latchkey/dev)',
  },
  quiet: { type: 'boolean', short: 'q', description: 'print no events' },
  json: { type: 'boolean', description: 'print the URLs and accounts as one line of JSON, and no events' },
  archival: { type: 'boolean', description: 'keep all blocks of the chain, in memory, as LocalNet does' },
  explore: { type: 'boolean', description: 'also serve a small explorer of the chain (port 4023)' },
  'any-port': { type: 'boolean', description: 'use any free ports' },
  'allow-origin': {
    type: 'string',
    multiple: true,
    placeholder: 'ORIGIN',
    description: 'let web pages of ORIGIN use the stack, in addition to those on localhost; repeatable',
  },
} as const

export const devCommand = command({
  description: `Start a development chain, the key daemon, a facilitator and a weather seller on this machine, create and fund a buyer, \
make one paid request and print its steps. Every request, signature and settlement is then logged on one line on stderr, until Ctrl-C. The next start \
continues with the same ledger, keys and balances. Nothing on the chain has any value.`,
  rest: 'COMMAND',
  options: devOptions,
  notes: `With --explore, the explorer shows blocks, transactions, accounts, assets and applications of the chain. Its pages need no JavaScript. To use Lora instead, \
choose LocalNet in Lora; for Lora's wallet, also give --allow-origin https://lora.algokit.io.
Other commands find a running stack without any environment variable, and print that they use it. LATCHKEY_STACK selects one of several stacks by its directory, \
or no stack with the word none. Options and environment variables that name a daemon, a network or a node take precedence.
With -- COMMAND, run that program with the environment of the stack and exit with its status, for tests and CI.
Ports are those of LocalNet (4001, 4002, 8980) and of the x402 examples (4021, 4022) if they are free, and any free ports otherwise.`,
  examples: ['latchkey dev', 'latchkey dev -- npm test', 'latchkey dev --allow-origin https://dapp.example.net'],
  exits: ['running'],
  run: async ({ options, rest = [] }) => {
    const allowedOrigins = options['allow-origin']?.map(readOrigin)
    checkDirectoryOptions(options, rest.length > 0)
    const isSilent = options.json === true || rest.length > 0
    const print = (line: readonly Span[]): void => void (isSilent || printStyledLine(line))
    const events = new EventPrinter()
    const cleanup = startCleanupProcess()
    let program: ChildProcess | undefined
    const stack = await startUnderSignals(
      async () => {
        const directory = openDirectory(options, rest.length > 0, cleanup)
        print(title())
        return Stack.start({
          directory,
          onError: (error) => printError('dev', error),
          onEvent: events.onEvent,
          onPointer: (path) => cleanup.note({ directory: path }),
          isFound: rest.length === 0,
          anyPort: options['any-port'],
          hasExplorer: options.explore,
          isArchival: options.archival,
          allowedOrigins,
        })
      },
      {
        // Without a terminal, such as under nohup, none can close.
        endsWithTerminal: rest.length > 0 || hasTerminal(),
        onHangup: (started) => started.reopenLog(),
        // The stack keeps running until the program has exited.
        onSignal: (started, signal) =>
          program === undefined ? void started.stop() : forward(signal, program, cleanup),
      },
    )
    try {
      if (rest.length > 0) {
        program = spawnProgram(rest, environmentOf(stack.parts))
        return await exitStatus(program, rest[0]!, cleanup)
      }
      await runDemo(stack.parts, (text, emphasis) => print(storyLine(text, emphasis)))
      if (options.json) printJson(factsOf(stack))
      else for (const line of addressLines(stack, commandName())) print(line)
      if (!isSilent && options.quiet !== true) events.open()
      await stack.stopped
      return exitCodes.ok
    } finally {
      events.close()
      await stack.stop()
      cleanup.close()
    }
  },
})

function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY === true)
}

type Options = Values<typeof devOptions>

function checkDirectoryOptions({ fresh, ephemeral, dir }: Options, isProgram: boolean): void {
  const isTemporary = ephemeral === true || isProgram
  const given = fresh === true ? '--fresh' : dir === undefined ? undefined : '--dir'
  if (!isTemporary || given === undefined) return
  throw new UsageError(`${given} excludes --ephemeral and -- COMMAND, which use a temporary directory`)
}

function openDirectory({ fresh, ephemeral, dir }: Options, isProgram: boolean, cleanup: CleanupProcess) {
  if (ephemeral === true || isProgram) return StackDirectory.openEphemeral((directory) => cleanup.note({ directory }))
  return StackDirectory.open(dir === undefined ? defaultStackDirectory() : resolve(dir), { isFresh: fresh })
}

/** Returns the command as it was called, because npm adds it only to its own PATH. */
function commandName(): string {
  return process.env['npm_lifecycle_event'] === undefined ? 'latchkey' : 'npx latchkey'
}

/** Accepts the form that browsers send: scheme, host and port. */
function readOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : undefined
  if (origin === text && /^https?:/.test(text)) return text
  throw new UsageError('--allow-origin takes an origin, such as https://dapp.example.net', { code: 'invalid_value' })
}

function spawnProgram([file, ...args]: readonly string[], environment: { [name: string]: string }): ChildProcess {
  return spawn(file!, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
}

/** A terminal also sends its signals to the program, and many programs treat a second one as "exit immediately". */
function forward(signal: NodeJS.Signals, program: ChildProcess, cleanup: CleanupProcess): void {
  if (program.pid !== undefined) cleanup.note({ stopping: ProcessGroup.members(program.pid) })
  if (signal !== 'SIGTERM' && process.stdin.isTTY) return
  program.kill(signal)
}

/** Returns the exit status of the program, or 128 plus the signal number if a signal ended it, as in shells. */
function exitStatus(program: ChildProcess, name: string, cleanup: CleanupProcess): Promise<number> {
  if (program.pid !== undefined) cleanup.note({ started: program.pid })
  return new Promise((resolve, reject) => {
    program.once('error', (cause) => {
      reject(new CommandError('program_not_started', `${name} could not be started: ${cause.message}`, { cause }))
    })
    program.once('exit', (code, signal) => {
      if (program.pid !== undefined) cleanup.note({ exited: program.pid })
      resolve(code ?? 128 + (constants.signals[signal!] ?? 0))
    })
  })
}

function factsOf(stack: Stack) {
  const { devnet, kmdUrl, kmdDataDir, facilitatorUrl, sellerUrl, explorerUrl, seller, buyer, chain, consoleLink } =
    stack.parts
  const { path, isEphemeral, isKept } = stack.directory
  return {
    version,
    network: chain.caip2,
    devnet: {
      url: devnet.url,
      indexerUrl: devnet.indexerUrl,
      genesisHash: devnet.genesisHash,
      dispenser: devnet.dispenser,
      onlineAccounts: devnet.onlineAccounts,
      faucet: devnet.faucet,
      accounts: devnet.accounts,
    },
    kmd: { url: kmdUrl, token, dataDir: kmdDataDir, wallet: defaultWallet },
    facilitator: { url: facilitatorUrl },
    seller: { url: `${sellerUrl}/weather`, address: seller },
    buyer: { address: buyer, wallet: buyerWallet },
    console: consoleLink(),
    explorer: explorerUrl === undefined ? null : { url: explorerUrl },
    directory: { path, isEphemeral, isKept },
    takenPorts: stack.takenPorts,
    environment: environmentOf(stack.parts),
    pid: process.pid,
  }
}
