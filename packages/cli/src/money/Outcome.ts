/** The outcome of a sent transaction, according to the ledger and never to the answer of a node alone. */
import { AlgodError, explainRejection } from '@latchkey/algod'
import { type Chain, findPaymentState } from '@latchkey/x402/client'
import type { Interrupt } from './Interrupt.js'
import type { Sent } from './SentLog.js'

export type Outcome =
  | { readonly state: 'confirmed'; readonly round: bigint | undefined }
  /** The transaction may still be confirmed. */
  | { readonly state: 'pending'; readonly why: string }
  /** The last valid round has passed, and the transaction is in no block. */
  | { readonly state: 'expired' }
  /** No node has accepted it, and none can have. */
  | { readonly state: 'rejected'; readonly why: string /** The text of the node. */; readonly reason: string }

type Known = Pick<Sent, 'id' | 'firstValid' | 'lastValid'>

const pollMs = 250

export type DeliverOptions = {
  readonly waitMs: number
  readonly interrupt: Interrupt
  /** Whether it may have been sent before, in which case a refusal does not mean that it is not on the ledger. */
  readonly isRepeated: boolean
}

/** Sends the bytes and waits until the ledger has decided, for at most `waitMs`. */
export async function deliver(
  chain: Chain,
  sent: Known & { readonly group: readonly Uint8Array[] },
  { waitMs, interrupt, isRepeated }: DeliverOptions,
): Promise<Outcome> {
  const result = await Promise.race([chain.algod.submit(sent.group), interrupt.promise])
  if (result === undefined) return { state: 'pending', why: 'interrupted' }
  if (result.type === 'accepted') return wait(chain, sent, { waitMs, interrupt })
  const why = result.type === 'unanswered' ? result.reason : explainRejection(result.reason)
  const isCertain = !result.isAmbiguous && !isRepeated
  const isThere = result.type === 'refused' && result.code === 'already_in_ledger'
  if (isCertain && !isThere) return { state: 'rejected', why, reason: result.reason }
  return wait(chain, sent, { waitMs, interrupt, why: isThere ? undefined : why })
}

/** Polls until the outcome is decided, the time is up, or Ctrl-C. */
export async function wait(
  chain: Chain,
  sent: Known,
  options: { readonly waitMs: number; readonly interrupt: Interrupt; readonly why?: string | undefined },
): Promise<Outcome> {
  const { waitMs, interrupt } = options
  const giveUpAt = performance.now() + waitMs
  let why = options.why ?? 'not in a block yet'
  for (;;) {
    const found = await Promise.race([find(chain, sent), interrupt.promise]).catch((error: unknown) => {
      if (!(error instanceof AlgodError)) throw error
      why = error.message
    })
    if (found !== undefined && found.state !== 'pending') return found
    if (found !== undefined && found.why !== '') why = found.why
    if (interrupt.isInterrupted) return { state: 'pending', why: 'interrupted' }
    if (performance.now() > giveUpAt) return { state: 'pending', why }
    await Promise.race([new Promise((resolve) => setTimeout(resolve, pollMs)), interrupt.promise])
  }
}

/** @throws AlgodError if no node answers, or none has the blocks in question */
export async function find(chain: Chain, { id, firstValid, lastValid }: Known): Promise<Outcome> {
  const known = await chain.algod.transaction(id, { untilConfirmed: true })
  if (known.type === 'confirmed') return { state: 'confirmed', round: known.round }
  const payment = { transactionId: id, firstValid: `${firstValid}`, lastValid: `${lastValid}` }
  const state = await findPaymentState(payment, chain.algod)
  if (state === 'settled') {
    const again = await chain.algod.transaction(id)
    return { state: 'confirmed', round: again.type === 'confirmed' ? again.round : undefined }
  }
  if (state === 'expired') return { state: 'expired' }
  return { state: 'pending', why: known.type === 'dropped' ? explainRejection(known.reason) : '' }
}
