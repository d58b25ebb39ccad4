/**
 * A devnet with a state file, killed while payments come in, again and again: every payment that was answered is there
 * after the restart, and what is there is what a replay of the file gives. LATCHKEY_CRASH_ROUNDS says how often.
 */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { type DevnetFacts, get, type RunningDevnet, signPayment, startDevnet, submit } from '../support/devnet.js'
import { sleep, temporaryDirectory } from './support.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 20)
const connections = 8

type Counts = { answered: number; cutOff: number }

it(`${rounds} kills lose no payment that was answered`, { timeout: 30_000 + rounds * 10_000 }, async (t) => {
  const directory = temporaryDirectory(t)
  const stateFile = join(directory, 'ledger.log')
  const counts: Counts = { answered: 0, cutOff: 0 }
  let answered: string[] = []
  for (let round = 0; round <= rounds; round++) {
    const devnet = await startDevnet(t, ['--state', stateFile])
    await checkPayments(devnet.facts, answered)
    await checkReplay(devnet, stateFile, join(directory, 'copy.log'))
    answered = round === rounds ? [] : await payUntilKilled(devnet, round, counts)
    if (round === rounds) devnet.child.kill('SIGTERM')
    assert.equal(await devnet.exited, round === rounds ? 0 : undefined)
  }
  assert.ok(counts.answered > rounds * connections, `only ${counts.answered} payments in ${rounds} rounds`)
  assert.ok(counts.cutOff > rounds, `only ${counts.cutOff} payments were cut off`)
  t.diagnostic(`${counts.answered} payments answered, ${counts.cutOff} cut off`)
})

async function checkPayments({ url }: DevnetFacts, transactionIds: readonly string[]): Promise<void> {
  for (const transactionId of transactionIds) {
    const found = await get(`${url}/v2/transactions/pending/${transactionId}`)
    assert.ok(Number(found['confirmed-round']) > 0, `${transactionId} is not in a block`)
  }
}

/** The same file, replayed by a devnet that knows nothing else, gives the same state. */
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

/** Several clients pay at once; the kill comes at a moment that differs from round to round. */
async function payUntilKilled({ facts, child }: RunningDevnet, round: number, counts: Counts): Promise<string[]> {
  const answered: string[] = []
  let isKilled = false
  const pay = async (connection: number): Promise<void> => {
    const from = facts.accounts[connection % facts.accounts.length]!.mnemonic
    const to = facts.accounts[(connection + 1) % facts.accounts.length]!.address
    for (let count = 0; !isKilled && answered.length < 900; count++) {
      try {
        const status = await get(`${facts.url}/v2/status`)
        const payment = { from, to, microAlgos: 1n, round: BigInt(status['last-round'] as number) }
        const signed = signPayment(facts, { ...payment, note: `${round} ${connection} ${count}` })
        answered.push(await submit(facts.url, signed))
      } catch (error) {
        if (!isKilled) throw error
        counts.cutOff++
      }
    }
  }
  const paying = Promise.all(Array.from({ length: connections }, (_, connection) => pay(connection)))
  await sleep(30 + ((round * 37) % 300))
  isKilled = true
  child.kill('SIGKILL')
  await paying
  counts.answered += answered.length
  return answered
}
