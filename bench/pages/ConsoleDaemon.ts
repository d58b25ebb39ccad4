/** Starts a key daemon of any built checkout, for its console. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Daemon } from '../support/Daemon.js'
import * as DataDirectory from '../support/DataDirectory.js'

/** Returns the console before a session is opened: everything is loaded, and no wallet data is shown. */
export async function startConsole(checkout: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const parent = mkdtempSync(join(tmpdir(), 'bench-console-'))
  const directory = DataDirectory.create(join(parent, 'data'), 'unsafe')
  const daemon = await Daemon.start(
    [process.execPath, join(checkout, 'packages/cli/bin/kmd.js'), '-d', '{dir}'],
    directory,
  )
  const stop = async (): Promise<void> => {
    await daemon.stop()
    rmSync(parent, { recursive: true, force: true })
  }
  return { url: `http://127.0.0.1:${daemon.port}/console/`, stop }
}
