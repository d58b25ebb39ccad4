/** The secret that signs webhook bodies: a file in the data directory that only its owner can read. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { StartError } from '../../errors.js'
import * as Secret from '../../wallet/Secret.js'

/** The name of the file in a data directory. The file holds 64 hexadecimal digits. */
export const fileName = 'latchkey_webhook.secret'

/**
 * Reads the secret, or creates one if there is no file.
 *
 * @throws StartError `invalid_config` if the file has no valid secret
 */
export function readOrCreate(dataDir: string): Buffer {
  const path = join(dataDir, fileName)
  try {
    const text = readFileSync(path, 'latin1').trim()
    if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
    throw new StartError('invalid_config', {
      message: `${path} does not contain 64 hexadecimal digits; delete the file to get a new secret`,
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const secret = Secret.randomBytes(32)
  AtomicFile.replaceSync(path, `${secret.toString('hex')}\n`)
  return secret
}
