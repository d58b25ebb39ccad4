import { allPrinted } from '../messages.js'
import type { SentLog } from './SentLog.js'

/**
 * Closes the record of a transaction whose outcome was printed. Until then the same command has to find it: a user who saw
 * no outcome runs it again, and would pay twice. A record that stays open only leads to another look at the ledger.
 */
export async function closeWhenTold(log: SentLog, id: string): Promise<void> {
  await allPrinted()
    .then(() => log.close(id))
    .catch(() => {})
}
