/** For runtimes without a file system. */
import { KmdClientError } from '../KmdClientError.js'
import type { Examine } from '../transport/DaemonTransport.js'

export async function readDataDirectory(
  _dataDir: string,
  _token?: string,
): Promise<{ address: string; token: string }> {
  const message = 'only Node can read a data directory; pass { address, token } to Kmd.connect instead'
  throw new KmdClientError('data_directory_unsupported', message, { operation: 'connect' })
}

export function examiner(_dataDir: string): Examine {
  const none = async (): Promise<undefined> => undefined
  return { connection: none, address: none }
}
