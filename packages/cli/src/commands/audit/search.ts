/** `latchkey audit search TEXT`: finds matching audit records. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine, printMessage } from '../../messages.js'
import { jsonOf, lineOf } from './recordText.js'
import { collect, filterOptions, readCount, readFilters, withLog } from './source.js'

export const auditSearchCommand = command({
  description: 'Search the audit log, newest record first.',
  positionals: [{ name: 'TEXT', description: 'text to find anywhere in a record, ignoring case', isOptional: true }],
  options: {
    count: { type: 'string', short: 'n', placeholder: 'N', description: 'maximum number of records (100)' },
    ...filterOptions,
    ...daemonOptions,
    ...jsonOption,
  },
  notes: 'A record must match all filters. If no daemon is running, the command reads the file.',
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
        printMessage(
          `Showing the newest ${records.length} records; older ones may match too. To show more, raise --count.`,
        )
      }
      return exitCodes.ok
    }),
})
