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
    'Shows the latest records of the audit log, oldest first: what was signed, refused, unlocked, exported, deleted and changed, when, and by whom.',
  options: {
    count: { type: 'string', short: 'n', placeholder: 'N', description: 'how many records (20)' },
    follow: { type: 'boolean', short: 'f', description: 'go on with new records until interrupted' },
    ...filterOptions,
    ...daemonOptions,
    ...{ json: { ...jsonOption.json, description: 'print each record as one line of JSON' } },
  },
  notes:
    'Without a daemon the file of the log is read. Text of strangers is in members whose names begin with claimed.',
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
      if (records.length === 0 && !options.json) printMessage('The audit log has no such record yet.')
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
