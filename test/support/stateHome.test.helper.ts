/**
 * Gives the tests of a process a separate state directory, so they neither find nor use a stack of the person running
 * them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directory = mkdtempSync(join(tmpdir(), 'latchkey-state-'))
process.env['XDG_STATE_HOME'] = directory
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
