/** `latchkey token metrics`: creates a token that lets Prometheus read the daemon's metrics, and nothing else. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { MetricsToken, Token } from '@latchkey/kmd'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, dataDirectory } from '../../daemon.js'
import { CommandError, UsageError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine, printMessage } from '../../messages.js'
import { writeNewFile } from '../../revealSecret.js'

export const tokenMetricsCommand = command({
  description: `Create a token for Prometheus that can only read the key daemon's metrics. Prometheus sends it as Authorization: Bearer. \
A running daemon accepts it at once and refuses the previous one. The token is printed once; the data directory stores its hash.`,
  options: {
    out: {
      type: 'string',
      short: 'o',
      placeholder: 'FILE',
      completes: 'file',
      description: 'write the token to this new file, readable by its owner only, and print nothing',
    },
    delete: { type: 'boolean', description: 'delete the existing token instead of creating one' },
    ...daemonOptions,
    ...jsonOption,
  },
  examples: ['latchkey token metrics --out latchkey-metrics.token', 'latchkey token metrics --delete'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    if (options.delete && options.out !== undefined) throw new UsageError('give --delete or --out, not both')
    checkDirectory(dataDir)
    if (options.delete) return end(dataDir, options.json)
    const token = MetricsToken.generate()
    const file = options.out === undefined ? undefined : resolve(options.out)
    // Written first, so that the previous token stays valid if the file cannot be written.
    if (file !== undefined) writeNewFile(file, token)
    MetricsToken.store(dataDir, token)
    if (options.json) printJson(file === undefined ? { token } : { file })
    else if (file === undefined) printLine(token)
    else
      printMessage(`Written to ${file}. In the Prometheus configuration: authorization: { credentials_file: ${file} }`)
    return exitCodes.ok
  },
})

/** No daemon would find the token in another directory. */
function checkDirectory(dataDir: string): void {
  if (existsSync(Token.path(dataDir))) return
  const message = existsSync(dataDir) ? 'is not the data directory of a key daemon' : 'does not exist'
  throw new CommandError('data_directory_missing', `${dataDir} ${message}`, {
    hint: 'start the daemon in that directory first, or give another with --data-dir',
  })
}

function end(dataDir: string, isJson: boolean | undefined): number {
  const isDeleted = MetricsToken.remove(dataDir)
  if (isJson) printJson({ isDeleted })
  else printMessage(isDeleted ? 'The metrics token no longer works.' : 'There is no metrics token.')
  return exitCodes.ok
}
