/** kmd.net and kmd.pid: the daemon's address and process id. Both files exist only while the daemon runs. */
import { unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const addressFile = 'kmd.net'
export const pidFile = 'kmd.pid'

/** Launchers read the files as soon as they appear, the address first, and expect no newline. */
export function write(dataDir: string, { address, pid }: { address: string; pid: number }): void {
  remove(dataDir)
  writeFileSync(join(dataDir, addressFile), address, { mode: 0o640 })
  writeFileSync(join(dataDir, pidFile), String(pid), { mode: 0o640 })
}

/** Removes the files, including stale ones of a killed daemon. */
export function remove(dataDir: string): void {
  for (const file of [pidFile, addressFile]) removeFile(dataDir, file)
}

/** Removes the address, so that no new clients connect. */
export function removeAddress(dataDir: string): void {
  removeFile(dataDir, addressFile)
}

function removeFile(dataDir: string, file: string): void {
  try {
    unlinkSync(join(dataDir, file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
