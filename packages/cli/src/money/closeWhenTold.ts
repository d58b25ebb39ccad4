import { allPrinted } from '../messages.js'
import type { SentLog } from './SentLog.js'

/**
 * Closes the record of a transaction once its outcome was printed. Until then the same command must find it: a user who
 * saw no outcome repeats the command, and would otherwise pay twice. A record that stays open only causes another
 * ledger lookup.
 */
export async function closeWhenTold(log: SentLog, id: string): Promise<void> {
  await allPrinted()
    .then(() => log.close(id))
    .catch(() => {})
}
