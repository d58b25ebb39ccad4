/**
 * Tests unmodified PyPI `x402-avm` in each role and in all combinations with ours, and the official `x402` with the
 * scheme of examples/python. Skipped with the reason if there is no Python or its packages cannot be installed; `npm
 * test` reports it at the end.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Network } from '@latchkey/algorand'
import {
  type Buys,
  type PaidResponse,
  type Parties,
  type Sells,
  tradeInAllCombinations,
} from './interop.test.helper.js'
import { keyOf, openTrade, price } from './trade.test.helper.js'

const startMs = 60_000

type Obtained = { python: string; problem?: undefined } | { problem: string }
const script = new URL('../../../scripts/obtain/python.mjs', import.meta.url)
const { obtainPython } = (await import(script.href)) as { obtainPython: (requirements: string) => Obtained }
const examples = fileURLToPath(new URL('../../../examples/python', import.meta.url))

function programPath(name: string): string {
  return fileURLToPath(new URL(`../../x402/python/${name}.py`, import.meta.url))
}

type Environment = { [name: string]: string }

/** Passes on only what finding programs requires: with a proxy, the loopback interface would not be reachable. */
function environmentOf(more: Environment): Environment {
  return { PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1', ...more }
}

/** Starts a server, and returns its address once it listens. */
async function serve(t: TestContext, python: string, name: string, environment: Environment): Promise<string> {
  const child = spawn(python, [programPath(name)], { env: environmentOf(environment) })
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return `http://127.0.0.1:${await firstLine(child, name)}`
}

async function firstLine({ stdout, stderr }: ChildProcess, name: string): Promise<string> {
  let errors = ''
  stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2_000)
  })
  const signal = AbortSignal.timeout(startMs)
  const lines = createInterface({ input: stdout! })
  const line = await Promise.race([once(lines, 'line', { signal }), once(lines, 'close', { signal })])
  assert.equal(line.length, 1, `${name} did not start: ${errors}`)
  return String(line[0])
}

type Packages = { python: string; schemes: string; buyer: string; seller: string }

function parties({ python, schemes, buyer: buyerProgram, seller: sellerProgram }: Packages): Parties {
  const common = { SCHEMES: schemes, EXAMPLES: examples }
  const buys: Buys = async ({ devnet, buyer }, url) => {
    const env = environmentOf({ ...common, ALGOD_TESTNET_URL: devnet.url, AVM_PRIVATE_KEY: keyOf(buyer) })
    const { stdout } = await promisify(execFile)(python, [programPath(buyerProgram), url], { env, timeout: startMs })
    return JSON.parse(stdout) as PaidResponse
  }
  const sells: Sells = (t, { seller }, facilitatorUrl) => {
    const given = { AVM_ADDRESS: String(seller.addr), FACILITATOR_URL: facilitatorUrl, PRICE: price }
    return serve(t, python, sellerProgram, { ...common, ...given })
  }
  return { buyers: { theirs: buys }, sellers: { theirs: sells }, facilitators: {} }
}

function facilitatorWith(python: string): Parties['facilitators'] {
  return {
    theirs: (t, { devnet, sponsor }) =>
      serve(t, python, 'facilitator', { ALGOD_TESTNET_URL: devnet.url, AVM_PRIVATE_KEY: keyOf(sponsor) }),
  }
}

const { genesisHash } = Network.testnet
const options = { open: (t: TestContext) => openTrade(t, { genesisHash }), namesFirst: true }

const published = [
  { name: 'x402-avm', version: '2.0.2', requirements: 'requirements-avm.txt', schemes: 'schemes_avm' },
  { name: 'x402', version: '2.25.0', requirements: 'requirements-official.txt', schemes: 'schemes_official' },
]
const frameworks = [
  { frameworks: 'httpx and FastAPI', buyer: 'buyer_httpx', seller: 'seller_fastapi' },
  { frameworks: 'requests and Flask', buyer: 'buyer_requests', seller: 'seller_flask' },
]

for (const { name, version, requirements, schemes } of published) {
  const { python = '', problem } = { python: undefined, ...obtainPython(requirements) }
  const skip = problem ?? false

  test(`PyPI ${name} ${version} is installed`, { skip }, async () => {
    const installed = `import importlib.metadata as m; print(m.version("${name}"))`
    const { stdout } = await promisify(execFile)(python, ['-c', installed], { env: environmentOf({}) })
    assert.equal(stdout.trim(), version)
  })

  for (const { frameworks: used, buyer, seller } of frameworks) {
    test(`A15 PyPI ${name} ${version} with ${used}: buyer, seller, facilitator`, { skip }, (t) => {
      const theirs = parties({ python, schemes, buyer, seller })
      // The official package has no scheme for Algorand; the example adds one for buyers and sellers.
      const facilitators = name === 'x402' ? {} : facilitatorWith(python)
      return tradeInAllCombinations(t, { ...theirs, facilitators }, options)
    })
  }
}
