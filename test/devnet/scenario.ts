/**
 * A scenario for any algod, through its HTTP API and the published algosdk: from funding fresh accounts to closing them,
 * with the most common mistakes in between. The result of each step is read back.
 *
 *     node test/dist/devnet/scenario.js --algod http://127.0.0.1:4001
 */
import { parseArgs } from 'node:util'
import type * as algosdk from 'algosdk'
import { Algodv2 } from 'algosdk'
import * as Assets from './assetSteps.test.helper.js'
import { findFunder, localToken, NoFunderError, reasonOf } from './funder.test.helper.js'
import * as Payments from './paymentSteps.test.helper.js'
import { rejections } from './rejectionSteps.test.helper.js'
import { ScenarioContext, type Step } from './ScenarioContext.test.helper.js'

export type StepResult = { name: string; ok: boolean; round?: bigint; error?: string }

export type ScenarioOptions = {
  algod: algosdk.Algodv2
  /** Pays for everything and receives the remainder. */
  funder: algosdk.Account
  /** Called with the result of each step. */
  log?: (result: StepResult) => void
}

export const steps: readonly Step[] = [
  ...Payments.opening,
  ...Assets.assets,
  ...Payments.payments,
  ...rejections,
  ...Assets.closing,
  ...Payments.closing,
]

/** Stops after the first failed step. */
export async function runScenario({ algod, funder, log = () => {} }: ScenarioOptions): Promise<StepResult[]> {
  const context = new ScenarioContext({ algod, funder })
  const results: StepResult[] = []
  for (const { name, run } of steps) {
    const result = await run(context).then(
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
simulation, and the most common mistakes. Exits with 0 on success, 1 if a step failed, 2 if it could not start.

  --algod    default: ALGOD_SERVER and ALGOD_PORT, else http://127.0.0.1:4001
  --token    default: ALGOD_TOKEN, else 64 times the letter a
  --json     a list of the steps on standard output
  --help     this text

Accounts are funded by DISPENSER_MNEMONIC if it is set; by the devnet's dispenser if it has Algos there; or by the
richest key of the wallet unencrypted-default-wallet of a kmd (KMD_SERVER, KMD_PORT and KMD_TOKEN, else
http://127.0.0.1:4002 and 64 times the letter a). The remainder is returned.
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
  if (!URL.canParse(algod)) throw new TypeError(`${algod} is not the URL of an algod`)
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
    console.error(error instanceof NoFunderError ? error.message : `no response from ${url}: ${reasonOf(error)}`)
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

/** Rounds are far below 2^53. */
function toJson(results: readonly StepResult[]): string {
  return JSON.stringify(results, (_, value) => (typeof value === 'bigint' ? Number(value) : value), 2)
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main(process.argv.slice(2))
