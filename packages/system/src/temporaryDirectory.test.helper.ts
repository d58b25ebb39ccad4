import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a directory that is removed at the end of the test. */
export function temporaryDirectory(t: { after: (work: () => unknown) => void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-system-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
