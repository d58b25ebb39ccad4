/** `latchkey audit export`: exports the audit log as JSON lines or CSV. */
import { closeSync, openSync, writeSync } from 'node:fs'
import type { AuditRecord } from '@latchkey/kmd-client'
import { command } from '../../Command.js'
import { daemonOptions } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { counted, quoted } from '../../format.js'
import { contentPrinter, printJson, printMessage } from '../../messages.js'
import { csvHead, csvOf, jsonOf } from './recordText.js'
import { filterOptions, pages, readFilters, withLog } from './source.js'

type Writer = { write: (bytes: Uint8Array) => Promise<void>; end: () => Promise<void> }

export const auditExportCommand = command({
  description: 'Export the audit log, oldest record first, as JSON lines or as CSV for a spreadsheet.',
  options: {
    format: {
      type: 'string',
      choices: ['jsonl', 'csv'],
      placeholder: 'FORMAT',
      description: 'jsonl (the default) or csv',
    },
    output: {
      type: 'string',
      short: 'o',
      placeholder: 'FILE',
      completes: 'file',
      description: 'new file to write (stdout)',
    },
    ...filterOptions,
    ...daemonOptions,
    json: { type: 'boolean', description: 'with --output: print the result as one line of JSON' },
  },
  notes: `Each JSON line has number, atMs, record, previous and hash; the hash covers record. In CSV, a cell that a \
spreadsheet would evaluate as a formula begins with an apostrophe.`,
  examples: ['latchkey audit export > audit.jsonl', 'latchkey audit export --format csv --since 30d -o audit.csv'],
  exits: ['unreachable'],
  run: ({ options }) =>
    withLog(options, async ({ walletId, ...source }) => {
      const query = await readFilters(options, walletId)
      const isCsv = options.format === 'csv'
      const write = (record: AuditRecord): string => (isCsv ? csvOf(record) : `${JSON.stringify(jsonOf(record))}\n`)
      const writer = options.output === undefined ? contentPrinter() : fileWriter(options.output)
      let records = 0
      try {
        if (isCsv) await writer.write(Buffer.from(csvHead))
        for await (const page of pages(source, query)) {
          await writer.write(Buffer.from(page.map(write).join('')))
          records += page.length
        }
      } finally {
        await writer.end()
      }
      if (options.output !== undefined && options.json) printJson({ records, file: options.output })
      else if (options.output !== undefined)
        printMessage(`Wrote ${counted(records, 'record')} to ${quoted(options.output)}.`)
      return exitCodes.ok
    }),
})

/** Never overwrites a file. */
function fileWriter(path: string): Writer {
  let descriptor: number
  try {
    descriptor = openSync(path, 'wx', 0o600)
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const message = isThere
      ? `${quoted(path)} exists`
      : `${quoted(path)} cannot be written: ${(cause as Error).message}`
    throw new CommandError(isThere ? 'file_exists' : 'file_unwritable', message, { hint: 'name another file', cause })
  }
  return {
    write: async (bytes) => {
      try {
        for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done)
      } catch (cause) {
        throw new CommandError('file_unwritable', `${quoted(path)} cannot be written: ${(cause as Error).message}`, {
          hint: 'free disk space, or name another file',
          cause,
        })
      }
    },
    end: async () => closeSync(descriptor),
  }
}
