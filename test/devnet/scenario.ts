/**
 * One scenario for any algod, through its HTTP API alone and with algosdk as published: from funding fresh accounts
 * to closing them, with the commonest mistakes between. Each step is confirmed and read back.
 *
 *     node test/dist/devnet/scenario.js --algod http://127.0.0.1:4001
 */
import { parseArgs } from 'node:util'
import type * as algosdk from 'algosdk'
import { Algodv2 } from 'algosdk'
import * as Assets from './assets.js'
import { findFunder, localToken, NoFunderError, reasonOf } from './funder.js'
import { mistakes } from './mistakes.js'
import * as Payments from './payments.js'
import { type Step, World } from './world.js'

export type StepResult = { name: string; ok: boolean; round?: bigint; error?: string }

export type ScenarioOptions = {
  algod: algosdk.Algodv2
  /** Pays for everything, and gets back what the fees leave. */
  funder: algosdk.Account
  /** Told about each step when it is over. */
  log?: (result: StepResult) => void
}

export const steps: readonly Step[] = [
  ...Payments.opening,
  ...Assets.assets,
  ...Payments.payments,
  ...mistakes,
  ...Assets.closing,
  ...Payments.closing,
]

/** Ends at the first step that fails, which is then the last of the list. */
export async function runScenario({ algod, funder, log = () => {} }: ScenarioOptions): Promise<StepResult[]> {
  const world = new World({ algod, funder })
  const results: StepResult[] = []
  for (const { name, run } of steps) {
    const result = await run(world).then(
      (round): StepResult => ({ name, ok: true, round }),
      (error: unknown): StepResult => ({ name, ok: false, error: String((error as Error)?.stack ?? error) }),
    )
    results.push(result)
    log(result)
    if (!result.ok) break
  }
  return results
}

const help = `usage: node test/dist/devnet/scenario.js [--algod http://host:port] [--token TOKEN] [--json]

Runs one scenario on an algod: payments, an asset from creation to destruction, rekeying, multisig, leases,
simulation, and the commonest mistakes. Exits with 0 if everything went as it should, 1 if not, 2 if it could not begin.

  --algod    default: ALGOD_SERVER and ALGOD_PORT, else http://127.0.0.1:4001
  --token    default: ALGOD_TOKEN, else 64 times the letter a
  --json     a list of the steps on standard output, when all is over
  --help     this text

Accounts are funded by DISPENSER_MNEMONIC if it is set; by the devnet's dispenser if it has Algos there; or by the
richest key of the wallet unencrypted-default-wallet of a kmd (KMD_SERVER, KMD_PORT and KMD_TOKEN, else
http://127.0.0.1:4002 and 64 times the letter a). They give back what is left.
`

type Settings = { algod: string; token: string; isJson: boolean; isHelp: boolean }

function readArguments(args: string[]): Settings {
  const { values } = parseArgs({
    args,
    options: {
      algod: { type: 'string' },
      token: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { ALGOD_SERVER: server = 'http://127.0.0.1', ALGOD_PORT: port, ALGOD_TOKEN } = process.env
  const isBareLocal = process.env['ALGOD_SERVER'] === undefined && port === undefined
  const fromEnvironment = isBareLocal ? `${server}:4001` : port ? `${server}:${port}` : server
  const algod = values.algod ?? fromEnvironment
  if (!URL.canParse(algod)) throw new TypeError(`${algod} is no address of an algod`)
  return { algod, token: values.token ?? ALGOD_TOKEN ?? localToken, isJson: values.json, isHelp: values.help }
}

async function main(args: string[]): Promise<number> {
  let settings: Settings
  try {
    settings = readArguments(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    return 2
  }
  if (settings.isHelp) {
    process.stdout.write(help)
    return 0
  }
  const { algod: url, token, isJson } = settings
  const algod = new Algodv2(token, url)
  let funder: algosdk.Account
  try {
    funder = await findFunder(algod, process.env)
  } catch (error) {
    const said = error instanceof NoFunderError ? error.message : `no answer from ${url}: ${reasonOf(error)}`
    console.error(said)
    return 2
  }
  const results = await runScenario({ algod, funder, log: isJson ? () => {} : print })
  if (isJson) console.log(toJson(results))
  return results.every(({ ok }) => ok) ? 0 : 1
}

function print({ name, ok, round, error }: StepResult): void {
  console.log(ok ? `ok      ${name} (round ${round})` : `FAILED  ${name}`)
  if (error !== undefined) console.error(error)
}

/** Rounds stay numbers: no network is near 2^53. */
function toJson(results: readonly StepResult[]): string {
  return JSON.stringify(results, (_, value) => (typeof value === 'bigint' ? Number(value) : value), 2)
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main(process.argv.slice(2))
