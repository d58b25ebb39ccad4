/** Benchmarks the processor time of a request that has not paid, by request target. */
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { Devnet } from '@latchkey/devnet'
import { Chain, Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { Gate, localFacilitator } from '@latchkey/x402/server'
import { median, percentile, tidy } from './support/Statistics.js'
import { hostileTargets, worstTargets } from './targets/corpus.js'

const help = `Usage:
  npm run bench:targets -- [--targets N] [--rounds N]

Opens a gate with 24 routes, mounted three levels deep, and has it decide on requests that carry no payment: ordinary ones, and
a corpus of hostile request targets. Each target is decided on several times, and its lowest processor time counts, so that other
programs on the machine do not; the slowest 200 are tried four times as often. Prints one line of JSON with microseconds, and
with the slowest hostile target in relation to an ordinary request that gets the price.

  --targets  how many hostile targets are tried (10000)
  --rounds   how often each is tried (5)
  --help     this text
`

const { values } = parseArgs({
  options: {
    targets: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', default: false },
  },
})

async function openGate(devnet: Devnet): Promise<Gate> {
  const chain = await Chain.open({ network: 'local', nodes: devnet.url })
  const [payee, sponsor] = [devnet.accounts[1]!, devnet.accounts[4]!]
  const feePayer = Signer.fromMnemonic(sponsor.mnemonic)
  const facilitators = localFacilitator(new Facilitator({ chains: [chain], feePayer }))
  const accepts = { network: chain.caip2, price: '$0.01', payTo: payee.address }
  const byFunction = { ...accepts, price: () => '$0.01' }
  const names = Array.from({ length: 20 }, (_, index) => [`GET /api/v1/things${index}/:id`, { accepts }] as const)
  const routes = {
    'GET /weather': { accepts },
    'GET /priced': { accepts: byFunction },
    'GET /files/*': { accepts },
    'GET /:shop/prices': { accepts },
    ...Object.fromEntries(names),
  }
  return Gate.open({ routes, facilitators, chains: chain, onError: () => {} })
}

const origin = 'http://shop.example'

/** Returns the processor time of one decision, in microseconds. */
async function costOf(gate: Gate, target: string): Promise<number> {
  const request = new Request(`${origin}/x`)
  Object.defineProperty(request, 'url', { value: `${origin}${target}` })
  const path = { path: target, depth: 3, sent: target, targets: [target] }
  const before = process.cpuUsage()
  await gate.decide(request, path)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/**
 * Returns the fastest decision for each target. All targets are decided before the first one repeats, so nothing is
 * cached.
 */
async function measure(gate: Gate, targets: readonly string[], rounds: number): Promise<number[]> {
  const fastest = targets.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < rounds; round++) {
    for (const [index, target] of targets.entries()) {
      fastest[index] = Math.min(fastest[index]!, await costOf(gate, target))
    }
  }
  return fastest
}

/** Returns the positions of the slowest targets, which are measured again: a few of 10,000 were interrupted every time. */
function slowestOf(us: readonly number[], count: number): number[] {
  return [...us.keys()].sort((a, b) => us[b]! - us[a]!).slice(0, count)
}

async function run(): Promise<void> {
  const [count, rounds] = [Number(values.targets), Number(values.rounds)]
  const devnet = await Devnet.start({ port: 0 })
  const gate = await openGate(devnet)
  try {
    const ordinary = ['/weather?city=london', '/files/2026/report.pdf', '/api/v1/things7/12']
    const free = ['/about', '/assets/app.js', '/blog/2026/11/title']
    const many = (targets: readonly string[]): string[] =>
      Array.from({ length: 300 }, (_, index) => targets[index % 3]!)
    // Warms up: the code of the first requests is compiled.
    await measure(gate, [...many(ordinary), ...many(free), ...hostileTargets(1_000, 1)], 2)
    const paidUs = await measure(gate, many(ordinary), rounds)
    const freeUs = await measure(gate, many(free), rounds)
    const targets = [...worstTargets, ...hostileTargets(count - worstTargets.length, 402)]
    const hostileUs = await measure(gate, targets, rounds)
    const slow = slowestOf(hostileUs, 200)
    const again = await measure(
      gate,
      slow.map((index) => targets[index]!),
      4 * rounds,
    )
    for (const [position, index] of slow.entries()) hostileUs[index] = Math.min(hostileUs[index]!, again[position]!)
    const [ordinaryUs, maxUs] = [median(paidUs), Math.max(...hostileUs)]
    const slowest = targets[hostileUs.indexOf(maxUs)]!
    const result = {
      targets: count,
      cores: availableParallelism(),
      load: tidy(loadavg()[0]!),
      ordinaryUs: tidy(ordinaryUs),
      freeUs: tidy(median(freeUs)),
      hostileUs: {
        p50: tidy(median(hostileUs)),
        p99: tidy(
          percentile(
            [...hostileUs].sort((a, b) => a - b),
            0.99,
          ),
        ),
        max: tidy(maxUs),
      },
      slowestToOrdinary: tidy(maxUs / ordinaryUs),
      slowest: slowest.slice(0, 80),
      slowestLength: slowest.length,
    }
    process.stdout.write(`${JSON.stringify(result)}\n`)
  } finally {
    await gate.close()
    await devnet.stop()
  }
}

if (values.help) process.stdout.write(help)
else await run()
