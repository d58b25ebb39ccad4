/** `latchkey audit search TEXT`: finds matching audit records. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine, printMessage } from '../../messages.js'
import { jsonOf, lineOf } from './recordText.js'
import { collect, filterOptions, readCount, readFilters, withLog } from './source.js'

export const auditSearchCommand = command({
  description: 'Finds records of the audit log, newest first.',
  positionals: [{ name: 'TEXT', description: 'anywhere in the record, in either case', isOptional: true }],
  options: {
    count: { type: 'string', short: 'n', placeholder: 'N', description: 'how many records at most (100)' },
    ...filterOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes: 'Every filter that is given has to match. Without a daemon the file of the log is read.',
  examples: [
    'latchkey audit search --event wrong_password --since 24h',
    'latchkey audit search weather.example --actor shopper --json',
    'latchkey audit search --transaction ID',
  ],
  exits: ['unreachable'],
  run: ({ options, args: [text] }) =>
    withLog(options, async ({ walletId, ...source }) => {
      const query = { ...(await readFilters(options, walletId)), text: text === '' ? undefined : text }
      const { records, hasMore } = await collect(source, query, readCount(options.count, 100))
      if (options.json) printJson({ records: records.map(jsonOf), hasMore })
      else for (const record of records) printLine(lineOf(record))
      if (records.length === 0 && !options.json) printMessage('No record of the audit log matches.')
      if (hasMore && !options.json) {
        printMessage(`These are the newest ${records.length}; older records may match. Show more with --count.`)
      }
      return exitCodes.ok
    }),
})
