/** Options shared by `latchkey kmd` and `latchkey kmd start`. */
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { wires } from '@latchkey/kmd'
import * as AtomicFile from '@latchkey/system/atomic-file'
import type { Option } from '../../Command.js'
import { daemonOptions } from '../../daemon.js'
import { printWarning } from '../../messages.js'
import { logOptions } from '../../serverLog.js'

export const kmdOptions = {
  'data-dir': {
    ...daemonOptions['data-dir'],
    description: 'directory for wallets, token and settings (~/.latchkey/kmd-v0.5); created if missing',
  },
  timeout: {
    type: 'string',
    short: 't',
    placeholder: 'SECS',
    description: 'stop after this many seconds without a request (0: never)',
  },
  wire: {
    type: 'string',
    choices: wires,
    description: 'format of responses: documented (bytes as integers), or reference (exactly like the Go daemon)',
  },
  node: {
    type: 'string',
    placeholder: 'URL',
    description: 'URL of an algod from which the console reads balances; ALGOD_TOKEN is its token',
  },
  'unix-socket': {
    type: 'string',
    placeholder: 'PATH',
    description:
      'also listen on a Unix socket, for programs and containers on this machine; unix_socket in kmd_config.json',
  },
  ...logOptions,
} as const satisfies { [name: string]: Option }

/** Readable only by the owner, because it holds keys. Existing tools refuse a directory that others can read. */
export function createDirectory(dataDir: string): void {
  const first = mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (first !== undefined) {
    chmodSync(dataDir, 0o700)
    const top = resolve(first)
    for (let made = resolve(dataDir); made.length >= top.length; made = dirname(made))
      AtomicFile.syncDirectorySync(made)
    return
  }
  if ((statSync(dataDir).mode & 0o077) !== 0) {
    printWarning(`other users can read ${dataDir}; run: chmod 700 ${dataDir}`)
  }
}
