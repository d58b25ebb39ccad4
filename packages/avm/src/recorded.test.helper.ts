/** Reads recorded behaviour of the reference: the sample of this package, or all cases. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const sample = join(here, '..', 'src', 'testdata')

/** The cases of a kind. `LATCHKEY_AVM_CASES` names a folder with all of them. */
export function recordedCases<Case>(name: 'assemble' | 'disassemble' | 'lsig'): Case[] {
  const file = join(process.env.LATCHKEY_AVM_CASES ?? sample, `${name}.jsonl.gz`)
  return gunzipSync(readFileSync(file))
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Case)
}

/** Bytes of hexadecimal text. */
export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}
