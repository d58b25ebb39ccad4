import type { ErrorRegistry } from '@latchkey/algorand'

/** All error codes of this package, with their meaning and what to do. */
export const errors = {
  unreachable: {
    message: 'no connection to the node could be made, or it broke',
    hint: 'Check that the node runs and that this is its address.',
  },
  timeout: {
    message: 'the node did not answer in time',
    hint: 'Check that the node runs and is not overloaded; raise timeoutMs for a slow one.',
  },
  too_large: {
    message: 'the response of the node is longer than the limit',
    hint: 'Raise maxResponseBytes if a response of this size is right.',
  },
  refused_token: {
    message: 'the node refuses the API token',
    hint: 'Pass the token in its algod.token.',
  },
  redirected: {
    message: 'the node redirects to another address, which is not followed',
    hint: 'Pass the address that it redirects to, if you trust it.',
  },
  unexpected_status: {
    message: 'the node, or a proxy before it, answered with an unexpected status',
    hint: 'Check the state of the node: it may be catching up or overloaded.',
  },
  rejected: {
    message: 'the node rejected the request',
    hint: 'Read the message: it is the reason that the node gives.',
  },
  not_found: {
    message: 'no node has what was requested',
    hint: 'Use a node that keeps older blocks (an archival node).',
  },
  no_quorum: {
    message: 'fewer nodes than the quorum answer',
    hint: 'Try again when more of the nodes answer, or add one.',
  },
  not_a_node: {
    message: 'what answers is not an Algorand node',
    hint: 'Check the address.',
  },
  too_many_waiting: {
    message: 'too many requests wait for the node',
    hint: 'Try again later, or make fewer requests at once.',
  },
  invalid_options: {
    message: 'the options of the client are not valid',
    hint: 'Correct the option that the message names.',
  },
} as const satisfies ErrorRegistry

/** A code of {@link AlgodError}. */
export type AlgodErrorCode = keyof typeof errors
