/** Error responses about agents, approvals and the audit log. Part of the registry in `apiErrors.ts`. */
import type { ErrorEntry } from '@latchkey/algorand'

export const agentErrors = {
  // Permissions of agents
  too_many_connections: {
    status: 429,
    message: 'this token has too many requests in progress; send fewer at a time',
    hint: 'wait for responses before you send more, and reuse connections: one token may use a quarter of them',
  },
  agent_operation_forbidden: {
    status: 403,
    message: 'an agent may not use this operation',
    hint: "use the owner's API token, or an operation that agents may use: GET /latchkey/v1/agent lists what this one may do",
  },
  agent_token_required: {
    status: 403,
    message: "this operation is for agents; send an agent's token",
    hint: "send an agent's token as X-KMD-API-Token, or use the owner's operation: POST /latchkey/v1/agents/show",
  },
  agent_wallet_forbidden: {
    status: 403,
    message: 'this agent has no access to this wallet or key',
    hint: 'use the wallet and the keys that were granted: GET /latchkey/v1/agent lists them',
  },
  agent_paused: {
    status: 403,
    message: 'the owner has paused this agent',
    hint: 'ask the owner, who can run: latchkey agent resume NAME',
  },
  agent_suspended: {
    status: 403,
    message: "agents are suspended: the daemon's state database was rolled back or damaged",
    hint: 'ask the owner, who can run: latchkey agent confirm',
  },
  agent_ended: {
    status: 403,
    message: 'this agent has ended: it was revoked, it expired, or its key was deleted',
    hint: 'ask the owner for a new agent: latchkey agent new',
  },
  agent_keys_missing: {
    status: 503,
    message: "nothing is signed for this agent now: its wallet, or one of its keys, is missing from the daemon's files",
    hint: 'ask the owner to restore the wallet file, or to revoke the agent: latchkey agent revoke NAME',
  },

  // Why a signature is refused. The header Latchkey-Refusal has the rule, the amount requested, the amount left, and
  // when more is available.
  agent_transaction_forbidden: {
    status: 403,
    message: 'this agent may not sign this kind of transaction',
    hint: 'send a payment or an asset transfer without rekeying, close-out or clawback; other types need a rule by the owner',
  },
  agent_network_forbidden: {
    status: 403,
    message: 'this agent may not sign for this network',
    hint: "use a network that was granted: the transaction's genesis hash is that of another",
  },
  agent_fee_too_high: {
    status: 403,
    message: 'the fee is above the maximum that this agent may pay',
    hint: 'set a lower fee; the usual one is 1000 microAlgos',
  },
  agent_validity_too_long: {
    status: 403,
    message: 'the transaction is valid for longer than this agent may sign',
    hint: 'set the last valid round closer to the first',
  },
  agent_round_unknown: {
    status: 503,
    message: 'the current round of this network is unknown, so the validity of the transaction cannot be checked',
    hint: "try again soon; the owner can check the daemon's node: latchkey doctor",
  },
  agent_payee_denied: {
    status: 403,
    message: 'this agent may not pay this address',
    hint: 'pay another address; the owner denied this one',
  },
  agent_payee_unknown: {
    status: 403,
    message: 'this agent may only pay the addresses that its owner listed',
    hint: 'ask the owner to add the address: latchkey agent limit NAME --pay-to ADDRESS',
  },
  agent_asset_without_limit: {
    status: 403,
    message: 'this agent has no limit for this asset, so it cannot spend it',
    hint: 'ask the owner for a limit on this asset; fees count as ALGO',
  },
  agent_limit_exceeded: {
    status: 403,
    message: 'this payment exceeds a limit of this agent',
    hint: 'wait until the time in Latchkey-Refusal, or ask the owner for a higher limit',
  },
  agent_approval_required: {
    status: 403,
    message: "this payment needs the owner's approval",
    hint: 'wait for the approval that Latchkey-Approval names, then send the same transaction again',
  },
  agent_approval_denied: {
    status: 403,
    message: 'the owner denied this payment',
    hint: 'do not send it again; a new payment to the same payee for the same URL is refused for ten minutes',
  },

  // Operations of the owner
  agent_not_found: {
    status: 404,
    message: 'agent not found',
    hint: 'list the agents: latchkey agent list',
  },
  agent_name_taken: {
    status: 400,
    message: 'an agent with this name already exists',
    hint: 'choose another name, or revoke that agent',
  },
  bad_agent: {
    status: 400,
    message: 'the agent or its rules are invalid',
    hint: 'correct the part that the message names',
  },
  too_many_agents: {
    status: 400,
    message: 'too many agents, must be <= 10000',
    hint: 'revoke agents that are no longer used',
  },
  approval_not_found: {
    status: 404,
    message: 'approval not found',
    hint: 'list the approvals: latchkey approvals list',
  },
  approval_decided: {
    status: 400,
    message: 'this approval was already decided or has expired',
    hint: 'the agent has to ask again',
  },
  too_many_approvals: {
    status: 429,
    message: 'too many payments of this agent are waiting for approval',
    hint: 'wait for the owner to decide, or for the oldest to expire',
  },
  bad_audit_query: {
    status: 400,
    message: 'the audit log query is invalid',
    hint: 'correct the part that the message names',
  },

  // The state file
  state_not_written: {
    status: 503,
    message: 'the audit log cannot be written, so nothing was signed or changed',
    hint: 'free disk space, and check that latchkey_state.db in the data directory is writable',
  },
} as const satisfies { readonly [code: string]: ErrorEntry & { readonly status: number } }
