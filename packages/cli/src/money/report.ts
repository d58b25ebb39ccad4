/** Reports the outcome of sent transactions. */
import { Explorer, Network } from '@latchkey/algorand'
import type { Chain } from '@latchkey/x402/client'
import { CommandError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printMessage } from '../messages.js'
import type { Outcome } from './Outcome.js'
import { rejected } from './rejection.js'

/** Returns the explorer page of a transaction, or undefined on a local network. */
export function explorerUrl({ caip2 }: Chain, id: string): string | undefined {
  return Explorer.transactionUrl(caip2, id)
}

/**
 * Reports on stderr. The ids belong to one group, and the first represents all of them.
 *
 * @returns the exit code of a success
 * @throws CommandError for any other outcome
 */
export function reportOutcome(chain: Chain, ids: readonly string[], outcome: Outcome, isInterrupted: boolean): number {
  const [id = ''] = ids
  const where = Network.phrase(chain.caip2)
  switch (outcome.state) {
    case 'confirmed': {
      const round = outcome.round === undefined ? '' : ` in round ${outcome.round}`
      printMessage(`Confirmed${round} on ${where}.`)
      for (const one of ids) {
        const url = explorerUrl(chain, one)
        if (url !== undefined) printMessage(url)
      }
      return exitCodes.ok
    }
    case 'pending': {
      const why = isInterrupted ? 'the command was interrupted' : outcome.why
      const message = `pending: transaction ${id} was sent, but is not confirmed yet (${why})`
      throw new CommandError(isInterrupted ? 'interrupted' : 'outcome_pending', message, {
        hint: `check it with latchkey tx ${id}; running the same command again sends the same transaction, not a new one`,
      })
    }
    case 'expired':
      throw new CommandError(
        'transaction_expired',
        `transaction ${id} expired: it was not confirmed and no longer can be`,
        {
          hint: 'run the command again to send a new transaction',
        },
      )
    case 'rejected':
      if (outcome.why === outcome.reason)
        throw new CommandError('transaction_rejected', `nothing was sent: ${outcome.why}`)
      throw rejected(chain, 'nothing was sent', outcome.reason)
  }
}
