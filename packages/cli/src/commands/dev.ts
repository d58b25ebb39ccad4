/** `latchkey dev`: everything a paid request takes, running; or for as long as one command runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { command } from '../Command.js'
import { type CleanupProcess, startCleanupProcess } from '../dev/CleanupProcess.js'
import { printDemo } from '../dev/demo.js'
import * as ProcessGroup from '../dev/ProcessGroup.js'
import { environmentOf, environmentPath, exportLines, Stack, token, walletName } from '../dev/Stack.js'
import { exitCodes } from '../exitCodes.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

export const devCommand = command({
  text: `Starts a chain for development, the key daemon, a facilitator and a weather seller on this machine, creates and funds a buyer's \
wallet, makes one paid request and tells what happened. Then stays up until it is told to stop (Ctrl-C). Nothing is left behind, and \
nothing on it is worth anything.`,
  rest: 'COMMAND',
  options: {
    json: { type: 'boolean', about: 'print the addresses and accounts as one line of JSON' },
    'any-port': { type: 'boolean', about: 'take any free ports' },
  },
  notes: `With -- COMMAND, runs that with the environment set, and ends with its status (for CI).
Ports are those of LocalNet (4001, 4002) and of the x402 examples (4021, 4022) where they are free, others where not.`,
  examples: ['latchkey dev', 'latchkey dev -- npm test'],
  run: async ({ options, rest = [] }) => {
    const isQuiet = options.json === true || rest.length > 0
    const say = (text: string): void => void (isQuiet || process.stdout.write(`${text}\n`))
    const onError = (error: unknown): void => void process.stderr.write(`latchkey dev: ${(error as Error).message}\n`)
    say(`Latchkey ${version}: starting a chain, the key daemon, a facilitator and a seller`)
    const estate = startCleanupProcess()
    let command: ChildProcess | undefined
    const stack = await startUnderSignals(
      () =>
        Stack.start({
          onError,
          onDirectory: (directory) => estate.note({ directory }),
          takesAnyPort: options['any-port'],
        }),
      {
        endsWithTerminal: true,
        // The stack stays up for as long as the command needs in order to end.
        onSignal: (started, signal) => (command === undefined ? void started.stop() : passOn(signal, command, estate)),
      },
    )
    try {
      if (rest.length > 0) {
        command = runInside(rest, environmentOf(stack))
        return await statusOf(command, rest[0]!, estate)
      }
      say('')
      await printDemo(stack, (text) => say(`  ${text}`))
      process.stdout.write(options.json ? `${JSON.stringify(factsOf(stack))}\n` : block(stack))
      await stack.stopped
      return exitCodes.ok
    } finally {
      await stack.stop()
      estate.close()
    }
  },
})

function runInside([program, ...args]: readonly string[], environment: { [name: string]: string }): ChildProcess {
  return spawn(program!, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
}

/** What a terminal sends, it sends to the command as well; twice is for many programs another thing than once. */
function passOn(signal: NodeJS.Signals, command: ChildProcess, estate: CleanupProcess): void {
  if (command.pid !== undefined) estate.note({ leaving: ProcessGroup.of(command.pid) })
  if (signal !== 'SIGTERM' && process.stdin.isTTY) return
  command.kill(signal)
}

/** The status of the command; 128 and the signal's number if one ended it, as shells have it. */
function statusOf(command: ChildProcess, program: string, estate: CleanupProcess): Promise<number> {
  if (command.pid !== undefined) estate.note({ started: command.pid })
  return new Promise((resolve, reject) => {
    command.once('error', (error) => reject(new Error(`${program} was not started: ${error.message}`)))
    command.once('exit', (code, signal) => {
      if (command.pid !== undefined) estate.note({ ended: command.pid })
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
      genesisHash: devnet.genesisHash,
      dispenser: devnet.dispenser,
      accounts: devnet.accounts,
    },
    kmd: { url: kmdUrl, token, dataDir: kmdDataDir, wallet: walletName },
    facilitator: { url: facilitatorUrl },
    seller: { url: `${sellerUrl}/weather`, address: seller },
    buyer: { address: buyer },
    console: stack.consoleLink(),
    environment: environmentOf(stack),
    pid: process.pid,
  }
}

function block(stack: Stack): string {
  const { devnet, kmdUrl, facilitatorUrl, sellerUrl, buyer, seller } = stack
  return `
  Devnet       ${devnet.url}
  Key daemon   ${kmdUrl}  (token: ${token.length} times "a"; wallet ${walletName}, without a password)
  Facilitator  ${facilitatorUrl}
  Seller       ${sellerUrl}/weather  (in a browser too)
  Console      ${stack.consoleLink()}
               (works once; latchkey console makes another)

  Buyer        ${buyer}  in the wallet
  Paid to      ${seller}
  Dispenser    ${devnet.dispenser.address}  in the wallet, too

Environment, for another terminal; eval "$(curl -s ${sellerUrl}${environmentPath})" sets all of it:
${exportLines(environmentOf(stack)).replaceAll(/^(?=.)/gm, '  ')}
Try it there:
  curl -si ${sellerUrl}/weather
  npx latchkey pay ${sellerUrl}/weather

Ctrl-C ends all of it.

`
}
