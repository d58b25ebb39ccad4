/** `latchkey audit tail`: shows the latest audit records, and follows new ones. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine, printMessage } from '../../messages.js'
import { jsonOf, lineOf } from './recordText.js'
import { collect, filterOptions, pages, readCount, readFilters, withLog } from './source.js'

const pollMs = 1_000

export const auditTailCommand = command({
  description:
    'Show the latest records of the audit log, oldest first: who signed, refused, unlocked, exported, deleted or changed what, and when.',
  options: {
    count: { type: 'string', short: 'n', placeholder: 'N', description: 'number of records (20)' },
    follow: { type: 'boolean', short: 'f', description: 'print new records until interrupted' },
    ...filterOptions,
    ...daemonOptions,
    json: { ...jsonOption.json, description: 'print each record as one line of JSON' },
  },
  notes:
    'If no daemon is running, the command reads the file. Members whose names begin with claimed contain unverified text from others.',
  examples: [
    'latchkey audit tail',
    'latchkey audit tail -f --actor shopper',
    'latchkey audit tail -n 5 --event key_exported --json',
  ],
  exits: ['unreachable'],
  run: ({ options }) =>
    withLog(options, async ({ walletId, ...source }) => {
      const query = await readFilters(options, walletId)
      const records = (await collect(source, query, readCount(options.count, 20))).records.reverse()
      const show = (record: (typeof records)[number]): void =>
        options.json ? printJson(jsonOf(record)) : printLine(lineOf(record))
      records.forEach(show)
      if (records.length === 0 && !options.json) printMessage('No record of the audit log matches yet.')
      let last = records.at(-1)?.number ?? 0
      while (options.follow) {
        await new Promise((resolve) => setTimeout(resolve, pollMs))
        for await (const page of pages(source, query, last)) {
          page.forEach(show)
          last = page.at(-1)!.number
        }
      }
      return exitCodes.ok
    }),
})
