/** Defines the measurements of the benchmark. Each one first checks that the responses are right. */
import { deepStrictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Candidate } from './support/Candidate.js'
import { Daemon } from './support/Daemon.js'
import * as DataDirectory from './support/DataDirectory.js'
import * as Fixtures from './support/Fixtures.js'
import { Instance } from './support/Instance.js'
import type { Load, Outcome } from './support/Load.js'
import * as Payments from './support/Payments.js'
import { UnlockLoad } from './support/UnlockLoad.js'

export type Bench = {
  fixtures: Fixtures.Fixtures
  load: Load
  windowMs: number
  warmUpMs: number
  /** Every daemon must return the same signatures as the first one. */
  signatures: Map<number, string>
}

export type Measurement = {
  name: string
  rounds: { full: number; quick: number }
  /** Runs once per daemon before the rounds: checks and warms up. */
  prepare?: (candidate: Candidate, bench: Bench) => Promise<unknown>
  /** Runs once per daemon and round. Records each quantity once. */
  measure: (candidate: Candidate, bench: Bench) => Promise<void>
}

/** How long the unlocks run before signing is measured, so that all of them are in progress. */
const settleMs = 300

const start: Measurement = {
  name: 'start',
  rounds: { full: 5, quick: 3 },
  async measure(candidate) {
    const daemon = await Daemon.start(candidate.identity.command, candidate.dataDir('start'))
    candidate.record('start_ms', daemon.startMs)
    candidate.record('rss_started_mb', daemon.memory().rssMb)
    await daemon.stop()
  },
}

const unlock: Measurement = {
  name: 'unlock',
  rounds: { full: 5, quick: 2 },
  prepare: ({ main }) => main.handle('sign'),
  async measure(candidate) {
    const { daemon } = candidate.main
    const { id } = candidate.main.wallet(Fixtures.unlockWalletNames[0]!)
    const startedAt = performance.now()
    await daemon.unlock(id, Fixtures.password)
    candidate.record('unlock_ms', performance.now() - startedAt)
  },
}

const sign: Measurement = {
  name: 'sign',
  rounds: { full: 5, quick: 3 },
  async prepare({ main }, bench) {
    await checkSignatures(main, bench)
    await loadSigning(main, bench, 16, bench.warmUpMs)
  },
  async measure(candidate, bench) {
    const { main } = candidate
    const alone = await loadSigning(main, bench, 1)
    const cpuBefore = main.daemon.cpuMicroseconds()
    const together = await loadSigning(main, bench, 16)
    const cpu = main.daemon.cpuMicroseconds() - cpuBefore
    candidate.record('sign_per_s_1', alone.perSecond)
    candidate.record('sign_p99_ms_1', alone.p99Ms)
    candidate.record('sign_per_s_16', together.perSecond)
    candidate.record('sign_p99_ms_16', together.p99Ms)
    candidate.record('cpu_us_per_sign', cpu / together.requests)
  },
}

const listKeys: Measurement = {
  name: 'list_keys',
  rounds: { full: 3, quick: 2 },
  async prepare({ main }, bench) {
    const response = await main.daemon.call('POST', '/v1/key/list', { wallet_handle_token: await main.handle('sign') })
    deepStrictEqual(response, { addresses: Payments.listedAddresses(Fixtures.keyCount) })
    await loadWallet(main, 'sign', '/v1/key/list', bench.load, bench.warmUpMs)
  },
  async measure(candidate, { load, windowMs }) {
    const { perSecond } = await loadWallet(candidate.main, 'sign', '/v1/key/list', load, windowMs)
    candidate.record('list_keys_100_per_s', perSecond)
  },
}

const generate: Measurement = {
  name: 'generate',
  rounds: { full: 3, quick: 2 },
  async prepare({ main }, bench) {
    const response = await main.daemon.call('POST', '/v1/key', { wallet_handle_token: await main.handle('generate') })
    deepStrictEqual(response, { address: Payments.address(Fixtures.keyCount + 1) })
    await loadWallet(main, 'generate', '/v1/key', bench.load, bench.warmUpMs)
  },
  async measure(candidate, { load, windowMs }) {
    const { perSecond } = await loadWallet(candidate.main, 'generate', '/v1/key', load, windowMs)
    candidate.record('generate_per_s', perSecond)
  },
}

/** Uses a new daemon for each round, because the first listing after a start differs from later ones. */
function listWallets(count: number): Measurement {
  const name = `list_wallets_${count}`
  const names = Array.from({ length: count }, (_, index) => `w${String(index).padStart(4, '0')}`)
  return {
    name,
    rounds: { full: 3, quick: 1 },
    async prepare(candidate, { fixtures }) {
      DataDirectory.copyWallet(fixtures.listedWallet, candidate.dataDir(name), names)
    },
    async measure(candidate, { load, windowMs }) {
      const daemon = await Daemon.start(candidate.identity.command, candidate.dataDir(name))
      const startedAt = performance.now()
      const { wallets } = (await daemon.call('GET', '/v1/wallets')) as { wallets: { name: string }[] }
      candidate.record(`${name}_first_ms`, performance.now() - startedAt)
      const listed = wallets.map((wallet) => wallet.name)
      deepStrictEqual(listed, names)
      const requests = [daemon.build('GET', '/v1/wallets')]
      const { perSecond } = await load.run({ port: daemon.port, requests, connections: 1, windowMs })
      candidate.record(`${name}_per_s`, perSecond)
      await daemon.stop()
    },
  }
}

/** Uses a new daemon for each round, because unlocks are still in progress at the end. */
const signWhileUnlocking: Measurement = {
  name: 'sign_while_unlocking',
  rounds: { full: 3, quick: 1 },
  async measure(candidate, bench) {
    const dataDir = candidate.dataDir('sign_while_unlocking')
    const instance = await Instance.start(candidate.identity.command, dataDir, bench.fixtures)
    await checkSignatures(instance, bench)
    await loadSigning(instance, bench, 16, bench.warmUpMs)
    const [alone, together] = [await loadSigning(instance, bench, 1), await loadSigning(instance, bench, 16)]

    const unlocks = await UnlockLoad.begin(instance)
    await sleep(settleMs)
    const [loadedAlone, loadedTogether] = [
      await loadSigning(instance, bench, 1),
      await loadSigning(instance, bench, 16),
    ]
    unlocks.end()
    candidate.record('sign_per_s_1_while_10_unlocks', loadedAlone.perSecond)
    candidate.record('sign_per_s_1_while_10_unlocks_ratio', loadedAlone.perSecond / alone.perSecond)
    candidate.record('sign_p99_ms_1_while_10_unlocks', loadedAlone.p99Ms)
    candidate.record('sign_per_s_16_while_10_unlocks', loadedTogether.perSecond)
    candidate.record('sign_per_s_16_while_10_unlocks_ratio', loadedTogether.perSecond / together.perSecond)
    candidate.record('sign_p99_ms_16_while_10_unlocks', loadedTogether.p99Ms)
    candidate.record('rss_peak_mb_while_10_unlocks', instance.daemon.memory().peakMb)
    await instance.daemon.kill()
  },
}

export const measurements: Measurement[] = [
  start,
  unlock,
  sign,
  listKeys,
  listWallets(300),
  listWallets(3000),
  generate,
  signWhileUnlocking,
]

const payments = Payments.payments(64)

async function signBodies(instance: Instance): Promise<object[]> {
  const handle = await instance.handle('sign')
  return payments.map((payment) => ({
    wallet_handle_token: handle,
    wallet_password: Fixtures.password,
    transaction: Buffer.from(payment).toString('base64'),
  }))
}

/** Ed25519 signatures are deterministic (RFC 8032), so every daemon must return the same ones. */
async function checkSignatures(instance: Instance, { signatures }: Bench): Promise<void> {
  for (const [index, body] of (await signBodies(instance)).entries()) {
    const response = await instance.daemon.call('POST', '/v1/transaction/sign', body)
    const { signed_transaction: signed } = response as { signed_transaction: string }
    Payments.checkSigned(payments[index]!, Buffer.from(signed, 'base64'))
    if (!signatures.has(index)) signatures.set(index, signed)
    deepStrictEqual(signed, signatures.get(index), 'daemons sign differently')
  }
}

async function loadSigning(
  instance: Instance,
  bench: Bench,
  connections: number,
  windowMs = bench.windowMs,
): Promise<Outcome> {
  const { daemon } = instance
  const requests = (await signBodies(instance)).map((body) => daemon.build('POST', '/v1/transaction/sign', body))
  return await bench.load.run({ port: daemon.port, requests, connections, windowMs })
}

/** Loads one connection with a request whose only parameter is the wallet handle. */
async function loadWallet(
  instance: Instance,
  wallet: string,
  path: string,
  load: Load,
  windowMs: number,
): Promise<Outcome> {
  const { daemon } = instance
  const requests = [daemon.build('POST', path, { wallet_handle_token: await instance.handle(wallet) })]
  return await load.run({ port: daemon.port, requests, connections: 1, windowMs })
}
