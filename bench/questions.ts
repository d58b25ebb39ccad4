/** What the benchmark asks. Every question first checks that answers are right: nobody gains by answering wrongly. */
import { deepStrictEqual } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contestant } from './support/Contestant.js'
import { Daemon } from './support/Daemon.js'
import * as DataDirectory from './support/DataDirectory.js'
import * as Fixtures from './support/Fixtures.js'
import { Instance } from './support/Instance.js'
import type { Load, Outcome } from './support/Load.js'
import * as Payments from './support/Payments.js'
import { UnlockStorm } from './support/UnlockStorm.js'

export type Bench = {
  fixtures: Fixtures.Fixtures
  load: Load
  windowMs: number
  warmUpMs: number
  /** Every daemon has to give the same signatures: those of the first one asked. */
  signatures: Map<number, string>
}

export type Question = {
  name: string
  rounds: { full: number; quick: number }
  /** Once for each daemon, before the rounds: checks and warms up. */
  prepare?: (contestant: Contestant, bench: Bench) => Promise<unknown>
  /** Once for each daemon in every round. Each quantity is recorded once. */
  measure: (contestant: Contestant, bench: Bench) => Promise<void>
}

/** How long the unlocks run before signing beside them is measured: until all of them are at work. */
const stormSettlesMs = 300

const start: Question = {
  name: 'start',
  rounds: { full: 5, quick: 3 },
  async measure(contestant) {
    const daemon = await Daemon.start(contestant.identity.command, contestant.dataDir('start'))
    contestant.record('start_ms', daemon.startMs)
    contestant.record('rss_started_mb', daemon.memory().rssMb)
    await daemon.stop()
  },
}

const unlock: Question = {
  name: 'unlock',
  rounds: { full: 5, quick: 2 },
  prepare: ({ main }) => main.handle('sign'),
  async measure(contestant) {
    const { daemon } = contestant.main
    const { id } = contestant.main.wallet(Fixtures.unlockWalletNames[0]!)
    const startedAt = performance.now()
    await daemon.unlock(id, Fixtures.password)
    contestant.record('unlock_ms', performance.now() - startedAt)
  },
}

const sign: Question = {
  name: 'sign',
  rounds: { full: 5, quick: 3 },
  async prepare({ main }, bench) {
    await checkSignatures(main, bench)
    await loadSigning(main, bench, 16, bench.warmUpMs)
  },
  async measure(contestant, bench) {
    const { main } = contestant
    const alone = await loadSigning(main, bench, 1)
    const cpuBefore = main.daemon.cpuMicroseconds()
    const together = await loadSigning(main, bench, 16)
    const cpu = main.daemon.cpuMicroseconds() - cpuBefore
    contestant.record('sign_per_s_1', alone.perSecond)
    contestant.record('sign_p99_ms_1', alone.p99Ms)
    contestant.record('sign_per_s_16', together.perSecond)
    contestant.record('sign_p99_ms_16', together.p99Ms)
    contestant.record('cpu_us_per_sign', cpu / together.requests)
  },
}

const listKeys: Question = {
  name: 'list_keys',
  rounds: { full: 3, quick: 2 },
  async prepare({ main }, bench) {
    const answer = await main.daemon.call('POST', '/v1/key/list', { wallet_handle_token: await main.handle('sign') })
    deepStrictEqual(answer, { addresses: Payments.listedAddresses(Fixtures.keyCount) })
    await loadWallet(main, 'sign', '/v1/key/list', bench.load, bench.warmUpMs)
  },
  async measure(contestant, { load, windowMs }) {
    const { perSecond } = await loadWallet(contestant.main, 'sign', '/v1/key/list', load, windowMs)
    contestant.record('list_keys_100_per_s', perSecond)
  },
}

const generate: Question = {
  name: 'generate',
  rounds: { full: 3, quick: 2 },
  async prepare({ main }, bench) {
    const answer = await main.daemon.call('POST', '/v1/key', { wallet_handle_token: await main.handle('generate') })
    deepStrictEqual(answer, { address: Payments.address(Fixtures.keyCount + 1) })
    await loadWallet(main, 'generate', '/v1/key', bench.load, bench.warmUpMs)
  },
  async measure(contestant, { load, windowMs }) {
    const { perSecond } = await loadWallet(contestant.main, 'generate', '/v1/key', load, windowMs)
    contestant.record('generate_per_s', perSecond)
  },
}

/** A daemon of its own for each round: the first list after a start is another matter than those that follow. */
function listWallets(count: number): Question {
  const name = `list_wallets_${count}`
  const names = Array.from({ length: count }, (_, index) => `w${String(index).padStart(4, '0')}`)
  return {
    name,
    rounds: { full: 3, quick: 1 },
    async prepare(contestant, { fixtures }) {
      DataDirectory.copyWallet(fixtures.listedWallet, contestant.dataDir(name), names)
    },
    async measure(contestant, { load, windowMs }) {
      const daemon = await Daemon.start(contestant.identity.command, contestant.dataDir(name))
      const startedAt = performance.now()
      const { wallets } = (await daemon.call('GET', '/v1/wallets')) as { wallets: { name: string }[] }
      contestant.record(`${name}_first_ms`, performance.now() - startedAt)
      const listed = wallets.map((wallet) => wallet.name)
      deepStrictEqual(listed, names)
      const requests = [daemon.build('GET', '/v1/wallets')]
      const { perSecond } = await load.run({ port: daemon.port, requests, connections: 1, windowMs })
      contestant.record(`${name}_per_s`, perSecond)
      await daemon.stop()
    },
  }
}

/** A daemon of its own for each round, as it is left with unlocks that take longer than all the rest. */
const signWhileUnlocking: Question = {
  name: 'sign_while_unlocking',
  rounds: { full: 3, quick: 1 },
  async measure(contestant, bench) {
    const dataDir = contestant.dataDir('sign_while_unlocking')
    const instance = await Instance.start(contestant.identity.command, dataDir, bench.fixtures)
    await checkSignatures(instance, bench)
    await loadSigning(instance, bench, 16, bench.warmUpMs)
    const [alone, together] = [await loadSigning(instance, bench, 1), await loadSigning(instance, bench, 16)]

    const storm = await UnlockStorm.begin(instance)
    await sleep(stormSettlesMs)
    const [stormyAlone, stormyTogether] = [
      await loadSigning(instance, bench, 1),
      await loadSigning(instance, bench, 16),
    ]
    storm.end()
    contestant.record('sign_per_s_1_while_10_unlocks', stormyAlone.perSecond)
    contestant.record('sign_per_s_1_while_10_unlocks_ratio', stormyAlone.perSecond / alone.perSecond)
    contestant.record('sign_p99_ms_1_while_10_unlocks', stormyAlone.p99Ms)
    contestant.record('sign_per_s_16_while_10_unlocks', stormyTogether.perSecond)
    contestant.record('sign_per_s_16_while_10_unlocks_ratio', stormyTogether.perSecond / together.perSecond)
    contestant.record('sign_p99_ms_16_while_10_unlocks', stormyTogether.p99Ms)
    contestant.record('rss_peak_mb_while_10_unlocks', instance.daemon.memory().peakMb)
    await instance.daemon.kill()
  },
}

export const questions: Question[] = [
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

/** Signatures of Ed25519 are a function of key and message, so they verify and are the same from every daemon. */
async function checkSignatures(instance: Instance, { signatures }: Bench): Promise<void> {
  for (const [index, body] of (await signBodies(instance)).entries()) {
    const answer = await instance.daemon.call('POST', '/v1/transaction/sign', body)
    const { signed_transaction: signed } = answer as { signed_transaction: string }
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

/** One connection, and a request that takes nothing but the handle of a wallet. */
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
