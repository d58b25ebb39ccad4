import type { ErrorRegistry } from '@latchkey/algorand'

/** All error codes of this package, with their meaning and what to do. */
export const errors = {
  unreachable: {
    message: 'the node cannot be reached, or the connection broke',
    hint: 'Check that the node is running and that the address is right.',
  },
  timeout: {
    message: 'the node did not respond in time',
    hint: 'Check that the node is running and not overloaded; raise timeoutMs for a slow node.',
  },
  too_large: {
    message: "the node's response is longer than the limit",
    hint: 'Raise maxResponseBytes if you expect responses of this size.',
  },
  refused_token: {
    message: 'the node does not accept the API token',
    hint: 'Pass the token from its algod.token file.',
  },
  redirected: {
    message: 'the node redirects to another address, which is not followed',
    hint: 'Pass the address that it redirects to, if you trust it.',
  },
  unexpected_status: {
    message: 'the node, or a proxy in front of it, returned an unexpected status',
    hint: 'Check the state of the node: it may be catching up or overloaded.',
  },
  rejected: {
    message: 'the node rejected the request',
    hint: "Read the message: it is the node's reason.",
  },
  not_found: {
    message: 'no node has the requested data',
    hint: 'Use a node that keeps older blocks (an archival node).',
  },
  no_quorum: {
    message: 'fewer nodes than the quorum respond',
    hint: 'Try again when more nodes respond, or add a node.',
  },
  not_a_node: {
    message: 'the server is not an Algorand node',
    hint: 'Check the address.',
  },
  too_many_waiting: {
    message: 'too many requests are waiting for the node',
    hint: 'Try again later, or make fewer requests at once.',
  },
  invalid_options: {
    message: 'the options of the client are not valid',
    hint: 'Correct the option that the message names.',
  },
} as const satisfies ErrorRegistry

/** A code of {@link AlgodError}. */
export type AlgodErrorCode = keyof typeof errors
