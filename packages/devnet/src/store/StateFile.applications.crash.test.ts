import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { appAddress } from '../ledger/programs/AppRecords.js'
import { openLedger } from '../openLedger.js'
import { appId, genesis } from './callUntilKilled.test.helper.js'
import * as Dump from './Dump.js'
import { temporaryDirectory } from './LedgerSimulator.test.helper.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 2)
const caller = fileURLToPath(new URL('./callUntilKilled.test.helper.js', import.meta.url))

/** Starts the program, kills it soon after its first output, and returns the last count it acknowledged. */
async function runAndKill(stateFile: string, delayMs: number): Promise<bigint> {
  const child = spawn(process.execPath, [caller, stateFile], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (piece) => {
    output += piece
  })
  await once(child.stdout, 'data')
  setTimeout(() => child.kill('SIGKILL'), delayMs)
  const [, signal] = await once(child, 'close')
  assert.equal(signal, 'SIGKILL')
  return BigInt(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1)!)
}

test('application state, boxes and inner payments agree after kills', async (t) => {
  const stateFile = join(temporaryDirectory(t), 'state')
  for (let round = 0; round < rounds; round++) {
    const acknowledged = await runAndKill(stateFile, 15 + ((round * 37) % 120))
    const options = { genesis, stateFile, tracksLifetimes: false, onCreate: () => {} }
    const { ledger, stateFile: file } = await openLedger(options)
    await file!.close()
    const { state } = ledger
    const count = state.application(appId)!.globals.get('n') as bigint
    assert.ok(count >= acknowledged, `${count} after ${acknowledged} was acknowledged`)
    assert.ok(count <= acknowledged + 6n, 'nothing that never was')
    assert.equal(Buffer.from(state.box(appId, 'b')!).readBigUInt64BE(), count)
    assert.equal(state.account(appAddress(appId)).microAlgos, 1_000_000_000n - count)
    const text = Dump.write(ledger.snapshot(), genesis.chain.genesisHash)
    assert.equal(Dump.write(Dump.read(text, genesis), genesis.chain.genesisHash), text)
  }
})
