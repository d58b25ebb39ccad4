/** `latchkey dev`: everything a paid request takes, running; or for as long as one command runs. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type Command, readOptions } from '../Command.js'
import { dollarAssetId, Stack, token, walletName } from '../dev/Stack.js'
import { tell } from '../dev/story.js'
import { exitCodes } from '../exitCodes.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

const help = `Starts a chain for development, the key daemon, a facilitator and a weather seller on this machine, creates and funds a
buyer's wallet, makes one paid request and tells what happened. Then stays up until it is told to stop (Ctrl-C). Nothing
is left behind, and nothing on it is worth anything.

Usage:
  latchkey dev [options]
  latchkey dev [options] -- COMMAND [ARGUMENTS]

Options:
      --json        print the addresses and accounts as one line of JSON
      --any-port    take any free ports
      -- COMMAND    run this with the environment set, and end with its status (for CI)

Ports are those of LocalNet (4001, 4002) and of the x402 examples (4021, 4022) where they are free, others where not.

Examples:
  latchkey dev
  latchkey dev -- npm test

Exit codes: 0 stopped, 1 wrong usage, 3 failed; or that of the command.
`

export const devCommand: Command = {
  help,
  run: async (args) => {
    const end = args.indexOf('--')
    const options = readOptions(end < 0 ? args : args.slice(0, end), {
      json: { type: 'boolean' },
      'any-port': { type: 'boolean' },
    })
    const command = end < 0 ? [] : args.slice(end + 1)
    const isQuiet = options.json === true || command.length > 0
    const say = (text: string): void => void (isQuiet || process.stdout.write(`${text}\n`))
    const onError = (error: unknown): void => void process.stderr.write(`latchkey dev: ${(error as Error).message}\n`)
    say(`Latchkey ${version}: starting a chain, the key daemon, a facilitator and a seller`)
    const stack = await startUnderSignals(() => Stack.start({ onError, takesAnyPort: options['any-port'] }))
    try {
      if (command.length > 0) return await runInside(command, environmentOf(stack))
      say('')
      await tell(stack, (text) => say(`  ${text}`))
      process.stdout.write(options.json ? `${JSON.stringify(factsOf(stack))}\n` : block(stack))
      await stack.stopped
      return exitCodes.ok
    } finally {
      await stack.stop()
    }
  },
}

/** The status of the command; 128 and the signal's number if one ended it, as shells have it. */
function runInside(command: readonly string[], environment: { [name: string]: string }): Promise<number> {
  const [program, ...args] = command
  const child = spawn(program!, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal)
  process.on('SIGINT', pass).on('SIGTERM', pass)
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${program} was not started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      process.off('SIGINT', pass).off('SIGTERM', pass)
      resolve(code ?? 128 + (constants.signals[signal!] ?? 0))
    })
  })
}

function environmentOf({ devnet, kmdUrl, facilitatorUrl, sellerUrl, seller }: Stack): { [name: string]: string } {
  const [algod, kmd] = [new URL(devnet.url), new URL(kmdUrl)]
  return {
    ALGOD_SERVER: `http://${algod.hostname}`,
    ALGOD_PORT: algod.port,
    ALGOD_TOKEN: token,
    ALGOD_URL: devnet.url,
    KMD_SERVER: `http://${kmd.hostname}`,
    KMD_PORT: kmd.port,
    KMD_TOKEN: token,
    DISPENSER_MNEMONIC: devnet.dispenser.mnemonic,
    FACILITATOR_URL: facilitatorUrl,
    RESOURCE_SERVER_URL: sellerUrl,
    AVM_NETWORK: 'local',
    AVM_ADDRESS: seller,
    USDC_ASSET_ID: dollarAssetId.toString(),
  }
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
    environment: environmentOf(stack),
    pid: process.pid,
  }
}

function block(stack: Stack): string {
  const { devnet, kmdUrl, facilitatorUrl, sellerUrl, buyer } = stack
  const lines = Object.entries(environmentOf(stack)).map(([name, value]) => {
    return `  export ${name}=${value.includes(' ') ? `"${value}"` : value}`
  })
  return `
  Devnet       ${devnet.url}
  Key daemon   ${kmdUrl}  (token ${token.slice(0, 4)}…, ${token.length} times "a"; wallet ${walletName})
  Facilitator  ${facilitatorUrl}
  Seller       ${sellerUrl}/weather
  Buyer        ${buyer}, in that wallet

Environment:
${lines.join('\n')}

Try it:
  curl -si ${sellerUrl}/weather

Ctrl-C ends all of it.

`
}
