import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { Submission } from '@latchkey/algorand'
import { StateFileError } from '../errors.js'
import * as Genesis from '../ledger/Genesis.js'
import * as avm from '../ledger/programs/avm.js'
import { openLedger } from '../openLedger.js'
import { personOf, sign } from '../testing/TestNode.test.helper.js'
import * as Dump from './Dump.js'

const genesis = Genesis.make({ accountCount: 1 })
const alice = personOf(Buffer.from(genesis.accounts[0]!.secretKey, 'base64').subarray(0, 32))

function open(stateFile: string) {
  return openLedger({ genesis, stateFile, tracksLifetimes: false, onCreate: () => {} })
}

/** Creates an application that counts, and calls it. */
async function write(t: TestContext): Promise<{ path: string; hash: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'state-file-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'state')
  const { ledger, stateFile } = await open(path)
  const { assemble } = await avm.load()
  const approval = assemble(
    '#pragma version 10\nbyte "n"\nbyte "n"\napp_global_get\nint 1\n+\napp_global_put\nint 1',
  ).program
  const common = {
    type: 'appl',
    snd: alice.publicKey,
    fee: 1000n,
    lv: 100n,
    gh: Buffer.from(genesis.chain.genesisHash, 'latin1'),
  }
  const create = { ...common, apap: approval, apsu: Uint8Array.of(10, 0x81, 1), apgs: { nui: 1n } }
  ledger.submit([Submission.decodeFirst(sign(create, alice))])
  ledger.closeBlock()
  ledger.submit([Submission.decodeFirst(sign({ ...common, apid: 1001n }, alice))])
  ledger.closeBlock()
  const hash = Dump.hash(ledger.snapshot())
  await stateFile!.close()
  return { path, hash }
}

test('application calls survive a restart', async (t) => {
  const { path, hash } = await write(t)
  const { ledger, stateFile } = await open(path)
  t.after(() => stateFile!.close())
  assert.equal(Dump.hash(ledger.snapshot()), hash)
  assert.equal(ledger.state.application(1001n)!.globals.get('n'), 2n)
  const text = Dump.write(ledger.snapshot(), genesis.chain.genesisHash)
  assert.equal(Dump.write(Dump.read(text, genesis), genesis.chain.genesisHash), text)
  assert.match(text, /"version": 2,/)
})

test('a group whose outcome is another one now is refused, and the file is unchanged', async (t) => {
  const { path } = await write(t)
  const bytes = readFileSync(path)
  // The first record follows the header: its own header, the type 7, then the digest.
  const record = 48
  assert.equal(bytes[record + 12], 7)
  bytes[record + 13]! ^= 1
  const length = bytes.readUInt32BE(record)
  bytes.writeUInt32BE(crc32(bytes.subarray(record + 12, record + 12 + length)), record + 4)
  bytes.writeUInt32BE(crc32(bytes.subarray(record, record + 8)), record + 8)
  writeFileSync(path, bytes)
  await assert.rejects(open(path), (error: unknown) => {
    assert.ok(error instanceof StateFileError)
    assert.match(error.message, /application calls of the group of [A-Z2-7]{52} have another outcome now/)
    return error.code === 'state_file_version'
  })
  assert.deepEqual(readFileSync(path), bytes)
})

test('a file of version 1 is read', async (t) => {
  const { path, hash } = await write(t)
  const bytes = readFileSync(path)
  assert.equal(bytes.readUInt32BE(8), 2)
  bytes.writeUInt32BE(1, 8)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 44)), 44)
  writeFileSync(path, bytes)
  const { ledger, stateFile } = await open(path)
  t.after(() => stateFile!.close())
  assert.equal(Dump.hash(ledger.snapshot()), hash)
})
