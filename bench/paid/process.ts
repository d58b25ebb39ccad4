/** Runs one party of paid requests, started by `Party`. The process exits when its parent does. */
import * as MsgpackCounts from '../decoding/MsgpackCounts.js'
import { percentile } from '../support/Statistics.js'
import * as ours from './ours.js'
import type { Command, Message, PartyOptions, Purchases } from './Party.js'
import * as published from './published.js'

type Buy = ours.Buy

const options = JSON.parse(process.argv[2]!) as PartyOptions
const family = options.checkout === undefined ? published : ours
const counts = options.isCounted ? await MsgpackCounts.install(options.checkout!) : undefined
let buyers: Buy[] = []

async function buy(count: number, at: number): Promise<Purchases> {
  if (buyers.length !== at) buyers = await family.buyers(options, at)
  const latenciesMs: number[] = []
  let left = count
  const startedAt = performance.now()
  const one = async (pay: Buy): Promise<void> => {
    while (left-- > 0) {
      const sentAt = performance.now()
      const response = await pay()
      const text = await response.text()
      if (response.status !== 200) throw new Error(`a paid request got the status ${response.status}: ${text}`)
      latenciesMs.push(performance.now() - sentAt)
    }
  }
  await Promise.all(buyers.map(one))
  const perSecond = (count * 1000) / (performance.now() - startedAt)
  latenciesMs.sort((a, b) => a - b)
  return { perSecond, p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const send = (message: Message): void => void process.send?.(message)

async function answer(work: () => unknown, type: 'ready' | 'done'): Promise<void> {
  try {
    send({ type, value: await work() })
  } catch (error) {
    send({ type: 'failed', reason: `${options.role}: ${(error as Error).stack}` })
  }
}

function start(): Promise<unknown> | undefined {
  if (options.role === 'buyer') return undefined
  if (options.role === 'daemon') return ours.daemon(options)
  if (options.role === 'devnet') return ours.devnet(options)
  return family[options.role](options)
}

function run(command: Command): unknown {
  switch (command.type) {
    case 'cpu':
      return cpuMs()
    case 'msgpack':
      return counts!()
    case 'buy':
      return buy(command.count, command.at)
  }
}

process.on('disconnect', () => process.exit())
process.on('message', (command: Command) => answer(() => run(command), 'done'))
await answer(start, 'ready')
