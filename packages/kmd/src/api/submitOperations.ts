/** Sends signed transactions to the node, and reports their status. */
import { explainRejection, type SubmitResult } from '@latchkey/algod'
import { Address, Transaction, type TransactionFile } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { requireOwnAddresses } from './agentWallet.js'
import { extraPrefix } from './latchkeyOperations.js'
import type { NodeClient } from './NodeClient.js'
import { ascii, bytes, define, uint } from './Operation.js'
import { readTransactions } from './transferOperations.js'
import { withNode } from './withNode.js'

const text = { type: 'string' } as const
const count = { type: 'uint', format: 'int64' } as const

/** A node remembers a confirmed transaction for 1,000 rounds. Some of them may pass between two requests. */
const rememberedRounds = 900

export const submitOperations = [
  define({
    id: 'SubmitTransaction',
    method: 'POST',
    path: `${extraPrefix}/transaction/submit`,
    once: true,
    about: 'Sends a signed transaction or group to the node. The same bytes can be sent again: they count once.',
    request: [
      {
        name: 'transaction',
        kind: bytes,
        about: 'The msgpack of one signed transaction or of a group of up to 16, one after another',
      },
    ],
    response: [
      { name: 'transaction_id', shape: text, about: 'Of the first transaction' },
      {
        name: 'state',
        shape: text,
        about:
          'sent; confirmed, if it was before; refused by the node; not_sent, if it surely did not reach the node; unknown, if it may have',
      },
      { name: 'round', shape: count, about: '0 unless it is confirmed' },
      { name: 'reason', shape: text, about: "The node's own text, or why it was not reached" },
      { name: 'explanation', shape: text, about: 'The reason in words; blank if it was sent' },
    ],
    responseName: 'SubmitTransactionResponse',
    errors: ['not_signed', 'no_node', 'node_failed'],
    run: (context, input, caller) => {
      const members = readTransactions(input.transaction)
      if (!members.every(isFullySigned)) throw new KmdError('not_signed')
      requireOwnAddresses(context, caller, members.map(signerOf))
      const id = Transaction.id(members[0]!.bytes)
      return withNode(context.node, async (algod) => toSubmitted(algod, id, await algod.submit([input.transaction])))
    },
  }),
  define({
    id: 'GetTransactionOutcome',
    method: 'POST',
    path: `${extraPrefix}/transaction/outcome`,
    about: 'Tells what became of a transaction that was sent, also that it can no longer be confirmed.',
    request: [
      { name: 'transaction_id', kind: ascii, about: 'Of 52 characters' },
      { name: 'first_valid', kind: uint, about: 'The first round in which it is valid' },
      { name: 'last_valid', kind: uint, about: 'The last round in which it is valid' },
    ],
    response: [
      {
        name: 'state',
        shape: text,
        about:
          'confirmed; pending; dropped by the node, which may yet be confirmed by others; expired, if it surely never will be; unknown to the node',
      },
      { name: 'round', shape: count, about: '0 unless it is confirmed' },
      { name: 'last_round', shape: count, about: 'Of the network' },
      { name: 'explanation', shape: text, about: 'Why the node dropped it, in words; blank otherwise' },
    ],
    responseName: 'GetTransactionOutcomeResponse',
    errors: ['bad_transaction_id', 'no_node', 'node_failed'],
    run: ({ node }, input) => {
      if (!/^[A-Z2-7]{52}$/.test(input.transaction_id)) throw new KmdError('bad_transaction_id')
      return withNode(node, (algod) => outcome(algod, input))
    },
  }),
]

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

async function toSubmitted(algod: NodeClient, id: string, result: SubmitResult) {
  const submitted = { transaction_id: id, round: 0, reason: '', explanation: '' }
  if (result.type === 'accepted') return { ...submitted, state: 'sent' }
  const { reason, isAmbiguous } = result
  if (result.type === 'unanswered') {
    const explanation = isAmbiguous
      ? 'The node did not answer. The transaction may have reached it.'
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

type OutcomeInput = { transaction_id: string; first_valid: number; last_valid: number }

/**
 * Asks for the round before the transaction and again after it. Only then does the round prove that the transaction
 * expired.
 */
async function outcome(algod: NodeClient, { transaction_id: id, first_valid, last_valid }: OutcomeInput) {
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
