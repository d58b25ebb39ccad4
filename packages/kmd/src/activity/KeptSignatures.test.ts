import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Transaction } from '@latchkey/algorand'
import { KeptSignatures } from './KeptSignatures.js'
import { SignatureLog } from './SignatureLog.js'

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const payment = (amt: bigint): Uint8Array =>
  Transaction.encode({ type: 'pay', snd: key(1), rcv: key(2), amt, fee: 1000n, fv: 1n, lv: 2n, gh: key(3) })

function fileOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-kept-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'signatures.json')
}

/** A daemon's run: opens the file, signs, and closes it. */
async function run(file: string, amounts: readonly bigint[]): Promise<readonly bigint[]> {
  const log = new SignatureLog()
  const kept = new KeptSignatures({ log, file, onFailure: (error) => assert.ifError(error) })
  const earlier = kept.earlier.map(({ facts }) => facts.amount)
  for (const amount of amounts) log.add('w\xff', payment(amount), false)
  await kept.close()
  return earlier
}

test('signatures are listed after a restart, with those of all earlier runs', async (t) => {
  const file = fileOf(t)
  assert.deepEqual(await run(file, [1n, 2n ** 64n - 1n]), [])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(await run(file, [3n]), [1n, 2n ** 64n - 1n])
  const log = new SignatureLog()
  const kept = new KeptSignatures({ log, file })
  assert.deepEqual(
    kept.earlier.map(({ number, walletKey, facts }) => [number, walletKey, facts.amount]),
    [
      [1, 'w\xff', 1n],
      [2, 'w\xff', 2n ** 64n - 1n],
      [3, 'w\xff', 3n],
    ],
  )
  assert.deepEqual(kept.earlier[0]!.facts.transactionId, Transaction.id(payment(1n)))
  await kept.close()
})

test('a run without a signature writes nothing, and the latest thousand are kept', async (t) => {
  const file = fileOf(t)
  await run(file, [])
  assert.throws(() => statSync(file), { code: 'ENOENT' })
  await run(file, Array(600).fill(1n))
  await run(file, Array(600).fill(2n))
  const earlier = await run(file, [])
  assert.deepEqual([earlier.length, earlier[0], earlier.at(-1)], [1_000, 1n, 2n])
})

test('signatures are also written while the daemon runs', { timeout: 30_000 }, async (t) => {
  const file = fileOf(t)
  const log = new SignatureLog()
  const kept = new KeptSignatures({ log, file, everyMs: 5 })
  t.after(() => kept.close())
  log.add('w', payment(5n), false)
  const isWritten = (): boolean => {
    try {
      return readFileSync(file, 'utf8').includes('"amount": "5"')
    } catch {
      return false
    }
  }
  while (!isWritten()) await new Promise((resolve) => setTimeout(resolve, 5))
})

test('a damaged file is reported, and left to its owner', async (t) => {
  const file = fileOf(t)
  for (const content of ['{', '{"version":1,"signatures":[{"atMs":1}]}', '{"version":2,"signatures":[]}']) {
    writeFileSync(file, content)
    const failures: unknown[] = []
    const log = new SignatureLog()
    const kept = new KeptSignatures({ log, file, onFailure: (error) => failures.push(error) })
    log.add('w', payment(5n), false)
    await kept.close()
    assert.deepEqual(kept.earlier, [])
    assert.equal(readFileSync(file, 'utf8'), content)
    assert.deepEqual(
      failures.map((error) => (error as { code: string }).code),
      ['state_file_damaged'],
    )
  }
})
