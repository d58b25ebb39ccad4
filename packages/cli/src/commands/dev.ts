/** `latchkey dev`: everything that a paid request needs, until Ctrl-C or for as long as a program runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { DevAccount } from '@latchkey/devnet'
import { command } from '../Command.js'
import { type CleanupProcess, startCleanupProcess } from '../dev/CleanupProcess.js'
import { printDemo } from '../dev/demo.js'
import * as ProcessGroup from '../dev/ProcessGroup.js'
import { buyerWallet, defaultWallet, environmentOf, exportLines, Stack, token } from '../dev/Stack.js'
import { environmentPath } from '../dev/seller.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printError, printJson, printResult } from '../messages.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

export const devCommand = command({
  description: `Starts a development chain, the key daemon, a facilitator and a weather seller on this machine, creates and funds a buyer, \
makes one paid request and prints its steps. Runs until Ctrl-C and leaves no files behind. Nothing on the chain has any value.`,
  rest: 'COMMAND',
  options: {
    json: { type: 'boolean', description: 'print URLs and accounts as one line of JSON' },
    'any-port': { type: 'boolean', description: 'use any free ports' },
    'allow-origin': {
      type: 'string',
      multiple: true,
      placeholder: 'ORIGIN',
      description: 'let web pages of ORIGIN use it, beside those on localhost; repeatable',
    },
  },
  notes: `With -- COMMAND, runs that program with the environment set and exits with its status, for tests and CI.
Ports are those of LocalNet (4001, 4002, 8980) and of the x402 examples (4021, 4022) if they are free, any free ones otherwise.`,
  examples: ['latchkey dev', 'latchkey dev -- npm test', 'latchkey dev --allow-origin https://dapp.example.net'],
  run: async ({ options, rest = [] }) => {
    const allowedOrigins = options['allow-origin']?.map(readOrigin)
    const isQuiet = options.json === true || rest.length > 0
    const print = (text: string): void => void (isQuiet || printResult(`${text}\n`))
    const onError = (error: unknown): void => printError('dev', error)
    print(`Latchkey ${version}: starting a chain, the key daemon, a facilitator and a seller`)
    const cleanup = startCleanupProcess()
    let program: ChildProcess | undefined
    const stack = await startUnderSignals(
      () =>
        Stack.start({
          onError,
          onDirectory: (directory) => cleanup.note({ directory }),
          anyPort: options['any-port'],
          allowedOrigins,
        }),
      {
        endsWithTerminal: true,
        // The stack keeps running until the program has exited.
        onSignal: (started, signal) =>
          program === undefined ? void started.stop() : forward(signal, program, cleanup),
      },
    )
    try {
      if (rest.length > 0) {
        program = spawnProgram(rest, environmentOf(stack))
        return await exitStatus(program, rest[0]!, cleanup)
      }
      print('')
      await printDemo(stack, (text) => print(`  ${text}`))
      if (options.json) printJson(factsOf(stack))
      else printResult(block(stack))
      await stack.stopped
      return exitCodes.ok
    } finally {
      await stack.stop()
      cleanup.close()
    }
  },
})

/** In the form that browsers send: scheme, host and port. */
function readOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : undefined
  if (origin === text && /^https?:/.test(text)) return text
  throw new UsageError('--allow-origin takes an origin, such as https://dapp.example.net', { code: 'invalid_value' })
}

function spawnProgram([file, ...args]: readonly string[], environment: { [name: string]: string }): ChildProcess {
  return spawn(file!, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
}

/** A terminal sends its signals to the program too, and many programs treat a second one as "at once". */
function forward(signal: NodeJS.Signals, program: ChildProcess, cleanup: CleanupProcess): void {
  if (program.pid !== undefined) cleanup.note({ stopping: ProcessGroup.of(program.pid) })
  if (signal !== 'SIGTERM' && process.stdin.isTTY) return
  program.kill(signal)
}

/** The exit status of the program; 128 and the signal's number if one ended it, as in shells. */
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
  const { devnet, kmdUrl, kmdDataDir, facilitatorUrl, sellerUrl, seller, buyer, chain } = stack
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
    console: stack.consoleLink(),
    environment: environmentOf(stack),
    pid: process.pid,
  }
}

function block(stack: Stack): string {
  const { devnet, kmdUrl, facilitatorUrl, sellerUrl, buyer, seller } = stack
  return `
  Devnet       ${devnet.url}
  Indexer      ${devnet.indexerUrl}
  Key daemon   ${kmdUrl}  (token: ${token.length} times "a"; wallets have no password)
  Facilitator  ${facilitatorUrl}
  Seller       ${sellerUrl}/weather  (in a browser too)
  Console      ${stack.consoleLink()}
               (works once; latchkey console prints another)

  Buyer        ${buyer}  in the wallet ${buyerWallet}
  Paid to      ${seller}
${devnet.onlineAccounts.map(richLine).join('\n')}

Environment for another terminal; eval "$(curl -s ${sellerUrl}${environmentPath})" sets it:
${exportLines(environmentOf(stack)).replaceAll(/^(?=.)/gm, '  ')}
Try it there:
  curl -si ${sellerUrl}/weather
  npx latchkey pay ${sellerUrl}/weather

Ctrl-C ends all of it.

`
}

function richLine({ address }: DevAccount, index: number): string {
  return `  ${index === 0 ? 'Dispenser  ' : '           '}  ${address}  in the wallet ${defaultWallet}`
}
