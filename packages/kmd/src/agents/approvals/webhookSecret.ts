/** The secret that signs the bodies of the webhook: a file of the data directory that its owner alone can read. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as AtomicFile from '@latchkey/system/atomic-file'
import { StartError } from '../../errors.js'
import * as Secret from '../../wallet/Secret.js'

/** The name of the file in a data directory: 64 hexadecimal digits. */
export const fileName = 'latchkey_webhook.secret'

/** Reads the secret, or makes one if there is no file. @throws StartError `invalid_config` for a file that has none */
export function readOrCreate(dataDir: string): Buffer {
  const path = join(dataDir, fileName)
  try {
    const text = readFileSync(path, 'latin1').trim()
    if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
    throw new StartError('invalid_config', {
      message: `${path} is not 64 hexadecimal digits; delete it for a new secret`,
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const secret = Secret.randomBytes(32)
  AtomicFile.replaceSync(path, `${secret.toString('hex')}\n`)
  return secret
}
