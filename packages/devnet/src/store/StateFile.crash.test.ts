import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { LedgerChange } from '../ledger/LedgerChange.js'
import * as Dump from './Dump.js'
import { freshLedger, genesis, temporaryDirectory } from './LedgerSimulator.test.helper.js'
import { StateFile } from './StateFile.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 4)
const appender = fileURLToPath(new URL('./writeUntilKilled.test.helper.js', import.meta.url))

/** Starts the program, kills it soon after its first output, and returns the last round it acknowledged. */
async function runAndKill(path: string, delayMs: number): Promise<bigint> {
  const child = spawn(process.execPath, [appender, path], { stdio: ['ignore', 'pipe', 'inherit'] })
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

test('acknowledged changes survive repeated kills', async (t) => {
  const path = join(temporaryDirectory(t), 'changes.log')
  for (let round = 0; round < rounds; round++) {
    const acknowledged = await runAndKill(path, 20 + ((round * 37) % 120))
    const ledger = freshLedger()
    const types = new Set<LedgerChange['type']>()
    const replay = (change: LedgerChange): void => {
      types.add(change.type)
      ledger.replay(change)
    }
    const log = await StateFile.open({ path, genesis, replay })
    await log.close()
    assert.ok(ledger.last.round >= acknowledged, `${ledger.last.round} after ${acknowledged} was acknowledged`)
    assert.ok(ledger.last.round <= acknowledged + 4n, 'nothing that never was')
    Dump.read(Dump.write(ledger.snapshot(), genesis.chain.genesisHash), genesis)
    t.diagnostic(`round ${ledger.last.round}, acknowledged ${acknowledged}, ${[...types].join(' ')}`)
  }
})
