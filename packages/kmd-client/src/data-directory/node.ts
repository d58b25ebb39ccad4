/** Reads the address and token of the daemon running in a data directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KmdClientError } from '../KmdClientError.js'
import { doubt, doubtAddress } from '../node/Listener.js'
import type { Examine } from '../transport/DaemonTransport.js'

/** Returns the first lines of `kmd.net` and `kmd.token`. `kmd.token` is not read if another token is given. */
export async function readDataDirectory(dataDir: string, given?: string): Promise<{ address: string; token: string }> {
  // One after the other, so that the error of a directory without either file always names the same one.
  const address = await firstLine(dataDir, 'kmd.net')
  return { address, token: given ?? (await firstLine(dataDir, 'kmd.token')) }
}

/** Checks whether the directory's daemon is at the other end of a connection or at an address. */
export function examiner(dataDir: string): Examine {
  return {
    connection: (ends) => doubt(dataDir, ends),
    address: (host, port) => doubtAddress(dataDir, host, port),
  }
}

async function firstLine(dataDir: string, name: string): Promise<string> {
  const text = await readFile(join(dataDir, name), 'latin1').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? notRunning(dataDir, name, error) : unreadable(dataDir, name, error)
  })
  const [line = ''] = text.split('\n', 1)
  if (line !== '') return line
  const message = `${name} in ${dataDir} is empty: the daemon is just starting, or its start was interrupted. Try again, or restart the daemon`
  throw new KmdClientError('data_directory_unreadable', message, { operation: 'connect' })
}

function notRunning(dataDir: string, name: string, cause: unknown): KmdClientError {
  const message = `no key daemon is running in ${dataDir}: ${name} does not exist. Start one, or check the directory`
  return new KmdClientError('daemon_not_running', message, { operation: 'connect', cause })
}

function unreadable(dataDir: string, name: string, cause: NodeJS.ErrnoException): KmdClientError {
  const message = `${name} in ${dataDir} cannot be read (${cause.code}). Run as the daemon's user`
  return new KmdClientError('data_directory_unreadable', message, { operation: 'connect', cause })
}
