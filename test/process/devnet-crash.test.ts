/**
 * A devnet with a state file is killed repeatedly while payments arrive: every acknowledged payment is there after the
 * restart, and a replay of the file gives the same state. LATCHKEY_CRASH_ROUNDS sets the number of kills.
 */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import {
  type DevnetFacts,
  get,
  type RunningDevnet,
  signPayment,
  startDevnet,
  submit,
} from '../support/devnet.test.helper.js'
import { sleep, temporaryDirectory } from './commands.test.helper.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 12)
const connections = 8

type Counts = { acknowledged: number; interrupted: number }

test(`${rounds} kills lose no acknowledged payment`, { timeout: 60_000 + rounds * 60_000 }, async (t) => {
  const directory = temporaryDirectory(t)
  const stateFile = join(directory, 'ledger.log')
  const counts: Counts = { acknowledged: 0, interrupted: 0 }
  let acknowledged: string[] = []
  for (let round = 0; round <= rounds; round++) {
    const devnet = await startDevnet(t, ['--state', stateFile])
    await checkPayments(devnet.facts, acknowledged)
    await checkReplay(devnet, stateFile, join(directory, 'copy.log'))
    acknowledged = round === rounds ? [] : await payUntilKilled(devnet, round, counts)
    if (round === rounds) devnet.child.kill('SIGTERM')
    assert.equal(await devnet.exited, round === rounds ? 0 : undefined)
  }
  // The number depends on speed; each round has at least one, and some are interrupted by their kill.
  assert.ok(counts.acknowledged >= rounds, `only ${counts.acknowledged} payments in ${rounds} rounds`)
  assert.ok(counts.interrupted > 0, 'no payment was under way when the devnet was killed')
  t.diagnostic(`${counts.acknowledged} payments acknowledged, ${counts.interrupted} interrupted`)
})

async function checkPayments({ url }: DevnetFacts, transactionIds: readonly string[]): Promise<void> {
  for (const transactionId of transactionIds) {
    const found = await get(`${url}/v2/transactions/pending/${transactionId}`)
    assert.ok(Number(found['confirmed-round']) > 0, `${transactionId} is not in a block`)
  }
}

/** Checks that a new devnet that replays the file has the same state. */
async function checkReplay({ facts }: RunningDevnet, stateFile: string, copy: string): Promise<void> {
  const state = await get(`${facts.url}/devnet/state`)
  copyFileSync(stateFile, copy)
  const replayed = await Devnet.start({ port: 0, stateFile: copy })
  try {
    assert.equal(replayed.stateHash(), state['state-hash'])
    assert.equal(replayed.round, BigInt(state['round'] as number))
  } finally {
    await replayed.stop()
  }
}

/** Several clients pay at once; the kill comes at a different time in each round, after the first acknowledged payment. */
async function payUntilKilled({ facts, child }: RunningDevnet, round: number, counts: Counts): Promise<string[]> {
  const acknowledged: string[] = []
  let isKilled = false
  const pay = async (connection: number): Promise<void> => {
    const from = facts.accounts[connection % facts.accounts.length]!.mnemonic
    const to = facts.accounts[(connection + 1) % facts.accounts.length]!.address
    for (let count = 0; !isKilled && acknowledged.length < 900; count++) {
      try {
        const status = await get(`${facts.url}/v2/status`)
        const payment = { from, to, microAlgos: 1n, round: BigInt(status['last-round'] as number) }
        const signed = signPayment(facts, { ...payment, note: `${round} ${connection} ${count}` })
        acknowledged.push(await submit(facts.url, signed))
      } catch (error) {
        if (!isKilled) throw error
        counts.interrupted++
      }
    }
  }
  const paying = Promise.all(Array.from({ length: connections }, (_, connection) => pay(connection)))
  while (acknowledged.length === 0) await Promise.race([paying, sleep(5)])
  await sleep((round * 37) % 300)
  isKilled = true
  child.kill('SIGKILL')
  await paying
  counts.acknowledged += acknowledged.length
  return acknowledged
}
