/** Follows the daemon's signature log and the status of each transaction. */
import { consoleOperations, nodeOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { errorMessage, toSentence } from './messages.js'
import { usePolling } from './polling.js'
import { type Store, useStore } from './store.js'

const maxTransactionsPerRequest = 50

export type PaymentsErrors = {
  /** Why the log is not available. */
  error: string | undefined
  /** Why the status of transactions is not available. */
  statusError: string | undefined
}

export function usePaymentsPolling(everyMs: number): PaymentsErrors {
  const store = useStore()
  const [errors, setErrors] = useState<PaymentsErrors>({ error: undefined, statusError: undefined })
  usePolling(
    async () => {
      const error = await failureOf(() => loadSignatureLog(store))
      store.emitChange()
      const statusError = await failureOf(() => updateStatuses(store))
      setErrors({ error, statusError })
      store.emitChange()
    },
    everyMs,
    [store],
  )
  return errors
}

/** Adds the signatures since the last call. Returns undefined on success. */
export async function loadSignatureLog({ daemon, payments }: Store): Promise<undefined> {
  const { sinceMs, signings } = await daemon.call(consoleOperations.GetSignings, { after: payments.lastNumber })
  payments.add(sinceMs, signings)
}

/** Returns why the status is unavailable, if the daemon has no node. */
async function updateStatuses(store: Store): Promise<string | undefined> {
  const due = store.payments.takeDue(Date.now(), maxTransactionsPerRequest)
  if (due.length === 0) return undefined
  if (!(await store.hasNode())) return toSentence(store.node?.message ?? '')
  const { transactions } = await store.daemon.call(nodeOperations.FindTransactions, { transaction_ids: due })
  store.payments.update(transactions)
  return undefined
}

async function failureOf(work: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await work()
  } catch (caught) {
    return errorMessage(caught)
  }
}
