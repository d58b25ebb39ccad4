/** Starts `latchkey gateway` in a separate process, and pays for its routes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Network } from '@latchkey/algorand'
import { avmFamily, newest } from '@latchkey/published'
import { Buyer, decodeRequired, Signer } from '@latchkey/x402/client'
import { atEnd, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { type Buys, ours, type Parties, partiesOf } from '../x402/interop.test.helper.js'
import { keyOf, type Trade } from '../x402/trade.test.helper.js'

export type RunningGateway = {
  url: string
  pid: number
  signal: (name: NodeJS.Signals) => boolean
  log: () => string
  exited: Promise<unknown>
}

export async function startGateway(
  t: TestContext,
  { devnet }: Trade,
  args: readonly string[],
  env = {},
): Promise<RunningGateway> {
  const given = ['gateway', '--port', '0', '--json', '--network', 'testnet', '--node', devnet.url, ...args]
  const child = spawn(process.execPath, [latchkeyCommand, ...given], {
    env: { PATH: process.env['PATH'] ?? '', HOME: temporaryDirectory(t), ...env },
  })
  atEnd(t, () => child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const exited = once(child, 'close')
  await until('its first line', () => stdout.includes('\n') || child.exitCode !== null)
  assert.notEqual(stdout, '', stderr)
  const { url, pid } = JSON.parse(stdout) as { url: string; pid: number }
  return { url, pid, signal: (name) => child.kill(name), log: () => stderr, exited }
}

/** Buyers of several families, each with the name of its packages. */
export function allBuyers(): { [name: string]: Buys } {
  const named = (family: string, parties: Parties): [string, Buys][] =>
    Object.entries(parties.buyers).map(([name, buys]) => [`${family}, ${name}`, buys])
  return Object.fromEntries([
    ...named('Latchkey', ours),
    ...named('@x402/fetch', partiesOf(newest, Network.testnet.caip2)),
    ...named('@x402-avm', partiesOf(avmFamily, Network.fullCaip2(Network.testnet.genesisHash))),
  ])
}

/** Writes a configuration file. */
export function configure(t: TestContext, settings: object): string {
  const file = join(temporaryDirectory(t), 'gateway.json')
  writeFileSync(file, JSON.stringify(settings))
  return file
}

/** Returns the headers that pay for a response 402: for the first request, and for repeats. */
export async function paymentFor(
  { chain, buyer }: Trade,
  required: string | null | undefined,
): Promise<{ header: string; repeatHeader: string }> {
  const payer = new Buyer({ signer: Signer.fromSecretKey(keyOf(buyer)), chains: chain })
  return payer.pay(decodeRequired(required!))
}

/** The most memory that a process has had, in bytes. */
export function peakMemory(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
