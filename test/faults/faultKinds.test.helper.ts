/** Injects random faults from a seed. Each fault lasts for seconds, and several overlap. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Counter, Random } from '../x402/soakRandom.test.helper.js'
import { type Cluster, setNodeFault } from './Cluster.test.helper.js'
import type { Host } from './Network.test.helper.js'
import type { Clock, Service } from './Service.test.helper.js'

export type FaultOptions = {
  readonly random: Random
  readonly counts: Counter
  /** Logs every fault with its time, to be read alongside the history. */
  readonly log: (text: string) => void
  readonly isOver: () => boolean
  /** Called with the name of a gate that was killed. */
  readonly onKilled: (name: string) => void
}

/** A fault: its target, which never has two faults at the same time, and the action. */
type Fault = { readonly kind: string; readonly target: string; readonly run: () => Promise<void> }

const minuteSeconds = 60
const maxAtOnce = 3

/** Cycles through all kinds in random order until the time is over. */
export async function faultAtRandom(cluster: Cluster, options: FaultOptions): Promise<void> {
  const { random, counts, log, isOver } = options
  const busy = new Set<string>()
  const running = new Set<Promise<void>>()
  let left: (() => Fault)[] = []
  while (!isOver()) {
    await random.pause(150, 1_200)
    if (running.size >= maxAtOnce) await Promise.race(running)
    if (isOver()) break
    if (left.length === 0) left = random.shuffle(kindsFor(cluster, options))
    const fault = left.pop()!()
    if (busy.has(fault.target)) continue
    counts.add(fault.kind)
    log(`${fault.kind}: ${fault.target}`)
    busy.add(fault.target)
    const work = fault.run().finally(() => {
      log(`end of ${fault.kind}: ${fault.target}`)
      busy.delete(fault.target)
      running.delete(work)
    })
    running.add(work)
  }
  await Promise.all(running)
}

function kindsFor(cluster: Cluster, { random, onKilled }: FaultOptions): (() => Fault)[] {
  const { network, postgres, redis, nodes, replicas, gates, buyers } = cluster
  const hosts = hostsOf(cluster)
  const last = (low: number, high: number) => () => random.pause(low, high)
  const during = async (begin: () => unknown, wait: () => Promise<void>, end: () => unknown): Promise<void> => {
    await begin()
    await wait()
    await end()
  }
  const kill = (services: readonly Service[], kind: string) => (): Fault => {
    const service = random.pick(services)
    const run = () =>
      during(
        async () => {
          await service.kill()
          if (gates.includes(service)) onKilled(service.name)
        },
        last(0, 2_500),
        () => service.start(),
      )
    return { kind, target: service.name, run }
  }
  const endDatabase = (signal: 'SIGKILL' | 'SIGINT', kind: string) => (): Fault => {
    const { server } = postgres
    const run = () =>
      during(
        () => server.kill(signal),
        last(0, 2_000),
        () => server.restart(),
      )
    return { kind, target: 'database', run }
  }
  const cut = (kind: 'silent' | 'reset') => (): Fault => {
    const [a, b] = random.shuffle(hosts) as [Host, Host]
    const run = () =>
      during(
        () => network.cut(a, b, kind),
        last(1_000, 6_000),
        () => network.join(a, b),
      )
    return { kind: `cut between two (${kind})`, target: [a.name, b.name].sort().join(' and '), run }
  }
  const onHost = (kind: string, begin: (host: Host) => void, end: (host: Host) => void) => (): Fault => {
    const host = random.pick(hosts)
    const run = () =>
      during(
        () => begin(host),
        last(1_000, 5_000),
        () => end(host),
      )
    return { kind, target: `line of ${host.name}`, run }
  }
  const node = (fault: Parameters<typeof setNodeFault>[1]) => (): Fault => {
    const one = random.pick(nodes)
    const run = () =>
      during(
        () => setNodeFault(one, fault),
        last(1_500, 6_000),
        () => setNodeFault(one, 'none'),
      )
    return { kind: `node ${fault}`, target: one.name, run }
  }
  // Gates that share a file are on one host.
  const oneMachine = cluster.options.claims === 'sqlite' ? gates : []
  const single = [...replicas, ...gates, ...buyers].filter((service) => !oneMachine.includes(service))
  const clocks: [string, readonly Clock[]][] = [
    ...single.map(({ name, clock }): [string, Clock[]] => [name, [clock]]),
    ['database', [postgres.clock]],
    ...(oneMachine.length > 0 ? [['gates', oneMachine.map(({ clock }) => clock)] as [string, Clock[]]] : []),
  ]
  const clock = (seconds: number) => (): Fault => {
    const [name, own] = random.pick(clocks)
    const run = () =>
      during(
        () => own.map((one) => one.set(seconds)),
        last(2_000, 8_000),
        () => own.map((one) => one.set(0)),
      )
    return { kind: `clock ${seconds > 0 ? 'ahead' : 'behind'} by a minute`, target: `clock of ${name}`, run }
  }
  const endRedis = (): Fault => {
    const run = () =>
      during(
        () => redis!.server.kill(),
        last(0, 1_500),
        () => redis!.server.restart(),
      )
    return { kind: 'Redis killed', target: 'redis', run }
  }
  return [
    kill(replicas, 'replica killed'),
    kill(replicas, 'replica killed'),
    kill(gates, 'gate killed'),
    kill(gates, 'gate killed'),
    kill(gates, 'gate killed'),
    kill(buyers, 'buyers killed'),
    endDatabase('SIGINT', 'database restarted'),
    endDatabase('SIGKILL', 'database killed'),
    ...(redis === undefined ? [] : [endRedis]),
    cut('silent'),
    cut('silent'),
    cut('reset'),
    cut('reset'),
    onHost(
      'unplugged',
      (host) => network.setPlugged(host, false),
      (host) => network.setPlugged(host, true),
    ),
    onHost(
      'packets lost',
      (host) => network.setLoss(host, random.between(5, 30)),
      (host) => network.setLoss(host, 0),
    ),
    onHost(
      'slow line',
      (host) => network.setSlow(host, random.between(100, 600)),
      (host) => network.setSlow(host, undefined),
    ),
    node('forgets'),
    node('loses'),
    node('fails'),
    node('hangs'),
    node('lags'),
    clock(minuteSeconds),
    clock(-minuteSeconds),
  ]
}

/** Returns all hosts except the ledger, which represents the consensus of the nodes rather than a host. */
function hostsOf({ postgres, redis, nodes, replicas, gates, buyers }: Cluster): Host[] {
  const services = [...nodes, ...replicas, ...gates, ...buyers].map(({ host }) => host)
  return [...services, postgres.host, ...(redis === undefined ? [] : [redis.host])]
}

/** Ends every fault. */
export async function heal(cluster: Cluster): Promise<void> {
  const { network, nodes, replicas, gates, postgres, redis } = cluster
  network.heal()
  for (const { clock } of [...replicas, ...gates, ...cluster.buyers, postgres]) clock.set(0)
  await Promise.all(nodes.map((node) => setNodeFault(node, 'none')))
  if (!postgres.server.isRunning) await postgres.server.restart()
  if (redis !== undefined && !redis.server.isRunning) await redis.server.restart()
  await Promise.all([...replicas, ...gates].map((service) => (service.isRunning ? undefined : service.start())))
  await sleep(100)
}
