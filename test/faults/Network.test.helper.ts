/**
 * Simulates hosts on a network: one namespace per host, joined by a bridge. The calling process runs in its own
 * namespaces (`unshare --net --mount --pid`), so nothing is visible outside and nothing remains when it exits.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** A host. `prefix` is the command that starts a program on it. */
export type Host = { readonly name: string; readonly address: string; readonly prefix: readonly string[] }

/** The address of the bridge, from which the test controls everything. No fault applies to it. */
export const hubAddress = '10.77.0.254'

/** How packets between two hosts are lost: silently, or with a reset to their sender. */
export type CutKind = 'silent' | 'reset'

type HostFaults = {
  readonly cuts: Map<string, CutKind>
  lossPercent: number
  kilobits: number | undefined
}

const program = (name: string, variable: string): string => {
  const directory = process.env[variable]
  return directory === undefined ? name : join(directory, name)
}

export class Network {
  readonly #hosts = new Map<string, { host: Host; faults: HostFaults }>()

  /** Must be called only once, in separate namespaces. */
  constructor() {
    if (!existsSync('/run/netns')) mkdirSync('/run/netns')
    // A tmpfs in this mount namespace, so host names are not visible outside.
    execFileSync('mount', ['-t', 'tmpfs', 'none', '/run/netns'])
    // Libraries name shared memory by process id, and process ids differ in this namespace.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'none', '/dev/shm'])
    ip('link', 'set', 'lo', 'up')
    ip('link', 'add', 'hub', 'type', 'bridge')
    ip('address', 'add', `${hubAddress}/24`, 'dev', 'hub')
    ip('link', 'set', 'hub', 'up')
  }

  add(name: string, number: number): Host {
    const address = `10.77.0.${number}`
    ip('netns', 'add', name)
    ip('link', 'add', `to-${number}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('link', 'set', `to-${number}`, 'master', 'hub', 'up')
    ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0')
    ip('-n', name, 'link', 'set', 'eth0', 'up')
    ip('-n', name, 'link', 'set', 'lo', 'up')
    const host = { name, address, prefix: [program('ip', 'IP_BIN'), 'netns', 'exec', name] }
    this.#hosts.set(name, { host, faults: { cuts: new Map(), lossPercent: 0, kilobits: undefined } })
    return host
  }

  /** Blocks all packets between the two hosts. */
  cut(a: Host, b: Host, kind: CutKind): void {
    this.#faultsOf(a).cuts.set(b.address, kind)
    this.#faultsOf(b).cuts.set(a.address, kind)
    this.#apply(a)
    this.#apply(b)
  }

  join(a: Host, b: Host): void {
    this.#faultsOf(a).cuts.delete(b.address)
    this.#faultsOf(b).cuts.delete(a.address)
    this.#apply(a)
    this.#apply(b)
  }

  /** Unplugs or plugs in the cable. */
  setPlugged(host: Host, isPlugged: boolean): void {
    ip('link', 'set', `to-${host.address.split('.').at(-1)}`, isPlugged ? 'up' : 'down')
  }

  /** Drops this percentage of all arriving packets. */
  setLoss(host: Host, percent: number): void {
    this.#faultsOf(host).lossPercent = percent
    this.#apply(host)
  }

  /** Simulates a slow line: packets wait in a queue, and are lost if it is full. */
  setSlow(host: Host, kilobits: number | undefined): void {
    const command = ['-n', host.name, 'qdisc', kilobits === undefined ? 'del' : 'replace', 'dev', 'eth0', 'root']
    const line = kilobits === undefined ? [] : ['tbf', 'rate', `${kilobits}kbit`, 'burst', '4kb', 'latency', '600ms']
    if (kilobits === undefined && this.#faultsOf(host).kilobits === undefined) return
    this.#faultsOf(host).kilobits = kilobits
    run(program('tc', 'IP_BIN'), [...command, ...line])
  }

  /** Resets the network to its initial state. */
  heal(): void {
    for (const { host, faults } of this.#hosts.values()) {
      faults.cuts.clear()
      faults.lossPercent = 0
      this.#apply(host)
      this.setSlow(host, undefined)
      this.setPlugged(host, true)
    }
  }

  #faultsOf({ name }: Host): HostFaults {
    return this.#hosts.get(name)!.faults
  }

  #apply(host: Host): void {
    const { cuts, lossPercent } = this.#faultsOf(host)
    const rules = [...cuts].flatMap(([address, kind]) => cutRules(address, kind))
    if (lossPercent > 0) {
      rules.push(`ip saddr != ${hubAddress} iif eth0 numgen random mod 100 < ${lossPercent} drop`)
    }
    const chain = ['type filter hook input priority 0', ...rules].map((rule) => `    ${rule}\n`).join('')
    // A single transaction, so there is no moment without rules.
    const text = `flush ruleset\ntable inet faults {\n  chain arriving {\n${chain}  }\n}\n`
    run(host.prefix[0]!, [...host.prefix.slice(1), program('nft', 'NFT_BIN'), '-f', '-'], text)
  }
}

function cutRules(address: string, kind: CutKind): string[] {
  if (kind === 'silent') return [`ip saddr ${address} drop`]
  return [
    // The resets of the other side.
    `ip saddr ${address} tcp flags & rst == rst accept`,
    `ip saddr ${address} meta l4proto tcp reject with tcp reset`,
    `ip saddr ${address} drop`,
  ]
}

function ip(...args: string[]): void {
  run(program('ip', 'IP_BIN'), args)
}

function run(command: string, args: readonly string[], input?: string): void {
  const libraries = process.env['LATCHKEY_TEST_LIBRARIES']
  const env = { PATH: process.env['PATH'], ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) }
  execFileSync(command, args, { env, input, stdio: [input === undefined ? 'ignore' : 'pipe', 'ignore', 'pipe'] })
}
