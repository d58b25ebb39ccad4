/** State files that an earlier version wrote. Each has a group in round 3 that nodes, and later versions, refuse. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { StateFileError } from '../errors.js'
import * as Genesis from '../ledger/Genesis.js'
import { type OpenLedger, openLedger } from '../openLedger.js'

const genesis = Genesis.make({ accountCount: 1 })
const recorded = JSON.parse(
  readFileSync(new URL('../../src/testdata/recorded-states.json', import.meta.url), 'utf8'),
) as { readonly [description: string]: string }

const reasons: { readonly [description: string]: RegExp } = {
  'JSON with an invalid number': /logic eval error: error while parsing JSON text, invalid json text/,
  'an update beyond the pages of its application': /approval program too long/,
  'effects of the group in a program of version 5': /Unable to obtain effects from top-level transactions/,
  '1,200 bytes of arguments of a logic signature': /1200 bytes of LogicSig args, more than the available size pool/,
}

function write(t: TestContext, file: string): { readonly path: string; readonly bytes: Buffer } {
  const directory = mkdtempSync(join(tmpdir(), 'recorded-state-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const bytes = gunzipSync(Buffer.from(file, 'base64'))
  const path = join(directory, 'state')
  writeFileSync(path, bytes)
  return { path, bytes }
}

const open = (stateFile: string): Promise<OpenLedger> =>
  openLedger({ genesis, stateFile, tracksLifetimes: false, onCreate: () => {} })

for (const [description, reason] of Object.entries(reasons)) {
  test(`names the round of a group that is refused now: ${description}`, async (t) => {
    const { path, bytes } = write(t, recorded[description]!)
    let offset = 0
    await assert.rejects(open(path), (error: unknown) => {
      assert.ok(error instanceof StateFileError)
      assert.equal(error.code, 'state_file_version')
      const pattern =
        /: the change at byte (\d+) cannot be replayed: round 3: the group of [A-Z2-7]{52} was accepted when it was recorded, and is refused now: /
      offset = Number(pattern.exec(error.message)?.[1])
      assert.match(error.message, reason)
      assert.match(error.message, /The file is unchanged$/)
      assert.match(error.hint!, /the version that wrote it/)
      return true
    })
    assert.deepEqual(readFileSync(path), bytes)
    assert.deepEqual(
      readdirSync(join(path, '..')).filter((name) => !name.endsWith('.lock')),
      ['state'],
    )
    // The rounds before it have the same outcome, whose digest is in the file.
    truncateSync(path, offset)
    const { ledger, stateFile } = await open(path)
    assert.equal(ledger.last.round, 2n)
    await stateFile!.close()
  })
}
