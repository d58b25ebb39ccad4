/** Sends signed transactions to the node, and reports their status. */
import { explainRejection, type SubmitResult } from '@latchkey/algod'
import { Address, Transaction, type TransactionFile } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import type { NodeContext } from './Context.js'
import type { Implementations, InputOf, OutputOf } from './Implementation.js'
import { readTransactions } from './members.js'
import { type NodeClient, withNode } from './NodeClient.js'
import { requireOwnAddresses } from './ownAgent.js'

/** A node remembers a confirmed transaction for 1,000 rounds. Some of them may pass between two requests. */
const rememberedRounds = 900

export const submitOperations = {
  SubmitTransaction: {
    run: ({ node }, input) => submit(node, input.transaction, readSigned(input.transaction)),
    runAsAgent: (context, input, caller) => {
      const members = readSigned(input.transaction)
      requireOwnAddresses(context, caller, members.map(signerOf))
      return submit(context.node, input.transaction, members)
    },
  },
  GetTransactionOutcome: { run: getOutcome, runAsAgent: getOutcome },
} satisfies Partial<Implementations>

function readSigned(transaction: Uint8Array): TransactionFile.Member[] {
  const members = readTransactions(transaction)
  if (!members.every(isFullySigned)) throw new KmdError('not_signed')
  return members
}

function submit(node: NodeClient | undefined, bytes: Uint8Array, members: readonly TransactionFile.Member[]) {
  const id = Transaction.id(members[0]!.bytes)
  return withNode(node, async (algod) => toSubmitted(algod, id, await algod.submit([bytes])))
}

function getOutcome({ node }: NodeContext, input: OutcomeInput) {
  if (!/^[A-Z2-7]{52}$/.test(input.transaction_id)) throw new KmdError('bad_transaction_id')
  return withNode(node, (algod) => outcome(algod, input))
}

/** Rejects a multisig with too few signatures, because no node would accept it. */
function isFullySigned({ signed, isSigned }: TransactionFile.Member): boolean {
  const { msig, sig, lsig } = signed ?? {}
  if (!isSigned || msig === undefined || sig !== undefined || lsig !== undefined) return isSigned
  return msig.subsig.filter(({ s }) => s !== undefined).length >= msig.thr
}

/** The signing key: the sender's own, or the key that the sender was rekeyed to. The node checks the signature. */
function signerOf({ transaction, signed }: TransactionFile.Member): string {
  return Address.encode(signed?.sgnr ?? transaction.snd)
}

type Submitted = OutputOf<'SubmitTransaction'>

async function toSubmitted(algod: NodeClient, id: string, result: SubmitResult): Promise<Submitted> {
  const submitted = { transaction_id: id, round: 0, reason: '', explanation: '' }
  if (result.type === 'accepted') return { ...submitted, state: 'sent' }
  const { reason, isAmbiguous } = result
  if (result.type === 'unanswered') {
    const explanation = isAmbiguous
      ? 'The node did not respond. The transaction may have reached it.'
      : 'The node could not be reached. The transaction was not sent.'
    return { ...submitted, state: isAmbiguous ? 'unknown' : 'not_sent', reason, explanation }
  }
  if (result.code === 'already_in_ledger' || isAmbiguous) {
    const found = await algod.transaction(id)
    if (found.type === 'confirmed') return { ...submitted, state: 'confirmed', round: Number(found.round) }
    return { ...submitted, state: 'unknown', reason, explanation: explainRejection(reason) }
  }
  return { ...submitted, state: 'refused', reason, explanation: explainRejection(reason) }
}

type OutcomeInput = InputOf<'GetTransactionOutcome'>
type Outcome = OutputOf<'GetTransactionOutcome'>

/**
 * Asks for the round before the transaction and again after it. Only then does the round prove that the transaction
 * expired.
 */
async function outcome(algod: NodeClient, input: OutcomeInput): Promise<Outcome> {
  const { transaction_id: id, first_valid, last_valid } = input
  const before = Number(await algod.lastRound())
  const found = await algod.transaction(id)
  const known = { round: 0, last_round: before, explanation: '' }
  if (found.type === 'confirmed') return { ...known, state: found.type, round: Number(found.round) }
  if (found.type === 'pending') return { ...known, state: found.type }
  const after = before > last_valid ? Number(await algod.lastRound()) : before
  if (before > last_valid && after < first_valid + rememberedRounds) return { ...known, state: 'expired' }
  if (found.type === 'unknown') return { ...known, state: found.type }
  return { ...known, state: found.type, explanation: explainRejection(found.reason) }
}
