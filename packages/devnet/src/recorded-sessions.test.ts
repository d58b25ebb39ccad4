/**
 * Compares the ledger, its API and simulations with recorded sessions of the reference. Set `LATCHKEY_AVM_CASES` to the
 * folder of all cases to replay all sessions.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { Json } from '@latchkey/algorand'
import { replay, type Session } from './testing/recordedSession.test.helper.js'

const sample = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'testdata', 'sessions.jsonl.gz')
const folder = process.env.LATCHKEY_AVM_CASES

/** Steps that differ, by session and number, with the reason. */
const known: { readonly [step: string]: string } = {}

function sessions(): Session[] {
  return gunzipSync(readFileSync(folder === undefined ? sample : join(folder, 'apps.jsonl.gz')))
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Json.parse(line) as Session)
}

test('submissions, simulations and state are those of the reference', async (t) => {
  for (const session of sessions()) {
    await t.test(session.id, async () => {
      const { differences } = await replay(session)
      const unknown = differences.filter(({ id, step }) => known[`${id} #${step}`] === undefined)
      assert.deepEqual(unknown.slice(0, 3), [])
    })
  }
})
