/** Sends signed transactions to the node, and reports their status. */
import { allowed, define, extraPrefix, publicData } from '../Description.js'
import { ascii, bytes, uint } from '../members.js'

const text = { type: 'string' } as const

const count = { type: 'uint', format: 'int64' } as const

/** Operations on signed transactions. */
export const submitOperations = {
  SubmitTransaction: define({
    method: 'POST',
    path: `${extraPrefix}/transaction/submit`,
    once: true,
    about: 'Sends a signed transaction or group to the node. Sending the same bytes again has no further effect.',
    request: [
      {
        name: 'transaction',
        kind: bytes,
        about: 'The msgpack of one signed transaction or of a group of up to 16, one after another',
      },
    ],
    response: [
      { name: 'transaction_id', shape: text, about: 'Id of the first transaction' },
      {
        name: 'state',
        shape: { type: 'string', oneOf: ['sent', 'confirmed', 'refused', 'not_sent', 'unknown'] },
        about:
          'sent; confirmed, if it already was; refused by the node; not_sent, if it certainly did not reach the node; unknown, if it may have',
      },
      { name: 'round', shape: count, about: '0 unless confirmed' },
      { name: 'reason', shape: text, blank: true, about: "The node's own text, or why it was not reached" },
      { name: 'explanation', shape: text, blank: true, about: 'The reason in plain text; blank if it was sent' },
    ],
    responseName: 'SubmitTransactionResponse',
    errors: ['not_signed', 'no_node', 'node_failed'],
    access: { console: 'allowed', agent: allowed('only transactions signed with its own keys') },
    audit: 'none',
  }),
  GetTransactionOutcome: define({
    method: 'POST',
    path: `${extraPrefix}/transaction/outcome`,
    about: 'Returns the outcome of a transaction that was sent, including that it can no longer be confirmed.',
    request: [
      { name: 'transaction_id', kind: ascii, about: 'Of 52 characters' },
      { name: 'first_valid', kind: uint, about: 'The first round in which it is valid' },
      { name: 'last_valid', kind: uint, about: 'The last round in which it is valid' },
    ],
    response: [
      {
        name: 'state',
        shape: { type: 'string', oneOf: ['confirmed', 'pending', 'dropped', 'expired', 'unknown'] },
        about:
          'confirmed; pending; dropped by the node, but others may still confirm it; expired, if it can certainly not be confirmed; unknown to the node',
      },
      { name: 'round', shape: count, about: '0 unless confirmed' },
      { name: 'last_round', shape: count, about: 'Current round of the network' },
      {
        name: 'explanation',
        shape: text,
        blank: true,
        about: 'Why the node dropped it, in plain text; blank otherwise',
      },
    ],
    responseName: 'GetTransactionOutcomeResponse',
    errors: ['bad_transaction_id', 'no_node', 'node_failed'],
    access: { console: 'allowed', agent: publicData },
    audit: 'none',
  }),
}
