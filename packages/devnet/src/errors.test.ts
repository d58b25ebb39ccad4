import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import { Devnet, DevnetError, DumpError, errors, LedgerError, StateFileError } from './index.js'
import { personOf } from './testing/TestNode.test.helper.js'

const classes = [DevnetError, DumpError, LedgerError, StateFileError]

async function start(t: TestContext): Promise<Devnet> {
  const devnet = await Devnet.start({ port: 0, accounts: 1 })
  t.after(() => devnet.stop())
  return devnet
}

/** Checks the class, and that the code is registered. */
function expect(errorClass: (typeof classes)[number], code: keyof typeof errors): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof LatchkeyError && error instanceof errorClass, String(error))
    assert.deepEqual([error.code, error.name], [code, errorClass.name])
    assert.ok(error.message.length > 0)
    // The ledger's hints are sent to clients, where algod has none.
    if (errorClass !== LedgerError) assert.ok(error.hint, error.message)
    return true
  }
}

test('every code has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)+$/)
    assert.ok(message.length > 0 && hint.length > 0, code)
  }
})

test('start rejects with a code', async (t) => {
  const devnet = await start(t)
  const port = Number(new URL(devnet.url).port)
  const directory = mkdtempSync(join(tmpdir(), 'devnet-errors-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const text = join(directory, 'text')
  writeFileSync(text, 'not a state file')
  await assert.rejects(Devnet.start({ port: 0, accounts: -1 }), expect(DevnetError, 'invalid_option'))
  await assert.rejects(Devnet.start({ port }), expect(DevnetError, 'address_in_use'))
  await assert.rejects(Devnet.start({ port: 0, host: '192.0.2.1' }), expect(DevnetError, 'listen_failed'))
  await assert.rejects(Devnet.start({ stateFile: text }), expect(StateFileError, 'state_file_unrecognized'))
  const missing = join(directory, 'missing', 'file')
  await assert.rejects(Devnet.start({ stateFile: missing }), expect(StateFileError, 'state_file_unavailable'))
})

test('methods throw with a code', async (t) => {
  const devnet = await start(t)
  const { address } = personOf(5)
  assert.throws(() => devnet.fund(address, { microAlgos: 1n }), expect(LedgerError, 'rule_violation'))
  assert.throws(() => devnet.fund(address, { microAlgos: 10n ** 18n }), expect(LedgerError, 'rule_violation'))
  assert.throws(() => devnet.optIn(address, 5n), expect(LedgerError, 'rule_violation'))
  assert.throws(() => devnet.setTime(-1n), expect(DevnetError, 'invalid_time'))
  assert.throws(() => devnet.revert(7), expect(DevnetError, 'unknown_snapshot'))
  assert.throws(
    () => {
      for (;;) devnet.addFault({ type: 'drop', count: 1 })
    },
    expect(DevnetError, 'too_many_faults'),
  )
  assert.throws(() => devnet.load('{}'), expect(DumpError, 'invalid_dump'))
  assert.throws(
    () => devnet.load(devnet.dump().replace('"version": 1', '"version": 3')),
    expect(DumpError, 'dump_version'),
  )
  await assert.rejects(devnet.loadFrom('/missing/dump.json'), expect(DumpError, 'dump_file_unavailable'))
  await assert.rejects(devnet.dumpTo('/missing/dump.json'), expect(DumpError, 'dump_file_unavailable'))
  const other = await Devnet.start({ port: 0, accounts: 2 })
  t.after(() => other.stop())
  assert.throws(() => devnet.load(other.dump()), expect(DumpError, 'dump_network'))
})
