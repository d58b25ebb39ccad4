import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkSystemProgram } from './checkProgram.js'

const skip = process.platform === 'win32' ? 'there are no owners' : false
const script = realpathSync(fileURLToPath(import.meta.url))

test('a service of the machine is refused if another user could replace its program, with the remedy', {
  skip,
}, () => {
  const none = { owners: new Set<number>(), groups: new Set<number>() }
  for (const root of [undefined, '/image']) {
    assert.throws(() => checkSystemProgram([process.execPath, script], root, none), {
      code: 'program_replaceable',
      message: /^\/ is owned by user \d+: another user could replace the program that the service runs$/,
      hint: /as root, such as in \/opt/,
    })
  }
})
