/** A state directory of their own for the tests of a process: a stack of the person who runs them is neither found nor used. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directory = mkdtempSync(join(tmpdir(), 'latchkey-state-'))
process.env['XDG_STATE_HOME'] = directory
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
