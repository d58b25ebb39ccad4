/** Error responses about agents, approvals and the audit log. Part of the registry in `apiErrors.ts`. */
import type { ErrorEntry } from '@latchkey/algorand'

export const agentErrors = {
  // Permissions of agents
  too_many_connections: {
    status: 429,
    message: 'this token has too many requests under way; send fewer at the same time',
    hint: 'wait for responses before you send more, and use connections again: one token has a quarter of them',
  },
  agent_operation_forbidden: {
    status: 403,
    message: 'an agent may not use this operation',
    hint: 'use the API token of the owner, or an operation that agents have: GET /latchkey/v1/agent lists what this one may do',
  },
  agent_token_required: {
    status: 403,
    message: 'this operation is for agents; send the token of one',
    hint: 'send the token of an agent as X-KMD-API-Token, or use the operations of the owner: POST /latchkey/v1/agents/show',
  },
  agent_wallet_forbidden: {
    status: 403,
    message: 'this agent has no access to this wallet or key',
    hint: 'use the wallet and the keys of the grant: GET /latchkey/v1/agent lists them',
  },
  agent_paused: {
    status: 403,
    message: 'this agent is paused by its owner',
    hint: 'ask the owner, who can run: latchkey agent resume NAME',
  },
  agent_suspended: {
    status: 403,
    message: 'agents are suspended: the state database of the daemon was rolled back or damaged',
    hint: 'ask the owner, who can run: latchkey agent confirm',
  },
  agent_ended: {
    status: 403,
    message: 'this agent has ended: it was revoked, has expired, or its key is gone',
    hint: 'ask the owner for another agent: latchkey agent new',
  },

  // Why a signature is refused. The header Latchkey-Refusal has the rule, the amount requested, the amount left, and
  // when more is available.
  agent_transaction_forbidden: {
    status: 403,
    message: 'this agent may not sign this kind of transaction',
    hint: 'send a payment or an asset transfer without rekeying, close-out or clawback; other types need a rule of the owner',
  },
  agent_network_forbidden: {
    status: 403,
    message: 'this agent may not sign for this network',
    hint: 'use a network of the grant: the genesis hash of the transaction names another',
  },
  agent_fee_too_high: {
    status: 403,
    message: 'the fee is above the most that this agent may pay',
    hint: 'set a lower fee; the usual one is 1000 microAlgos',
  },
  agent_validity_too_long: {
    status: 403,
    message: 'the transaction is valid for longer than this agent may sign',
    hint: 'set the last valid round closer to the first',
  },
  agent_round_unknown: {
    status: 503,
    message: 'the round of this network is not known yet, so that a payment that is valid only later cannot be told',
    hint: 'try again soon; the owner can check the node of the daemon: latchkey doctor',
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
    hint: 'ask the owner for a limit on this asset; fees count as Algos',
  },
  agent_limit_exceeded: {
    status: 403,
    message: 'this payment is beyond a limit of this agent',
    hint: 'wait until more is available, as Latchkey-Refusal says, or ask the owner for a higher limit',
  },
  agent_approval_required: {
    status: 403,
    message: 'this payment needs the approval of the owner',
    hint: 'wait for the approval that Latchkey-Approval names, then send the same transaction again',
  },
  agent_approval_denied: {
    status: 403,
    message: 'the owner denied this payment',
    hint: 'do not send it again; another transaction would ask the owner again',
  },

  // Operations of the owner
  agent_not_found: {
    status: 404,
    message: 'there is no such agent',
    hint: 'list the agents: latchkey agent list',
  },
  agent_name_taken: {
    status: 400,
    message: 'an agent of this name exists',
    hint: 'choose another name, or revoke the agent that has it',
  },
  bad_agent: {
    status: 400,
    message: 'the agent cannot be made like this',
    hint: 'the message says which part is wrong',
  },
  too_many_agents: {
    status: 400,
    message: 'too many agents, must be <= 10000',
    hint: 'revoke agents that are no longer used',
  },
  approval_not_found: {
    status: 404,
    message: 'there is no such approval',
    hint: 'list what is waiting: latchkey approvals list',
  },
  approval_decided: {
    status: 400,
    message: 'this approval is decided already, or has expired',
    hint: 'the agent has to ask again',
  },
  too_many_approvals: {
    status: 429,
    message: 'too many payments of this agent wait for an approval',
    hint: 'wait for the owner to decide, or for the oldest to expire',
  },
  bad_audit_query: {
    status: 400,
    message: 'the audit log cannot be searched like this',
    hint: 'the message says which part is wrong',
  },

  // The state file
  state_not_written: {
    status: 503,
    message: 'the audit log cannot be written, so nothing was signed or changed',
    hint: 'free disk space; latchkey_state.db in the data directory has to be writable',
  },
} as const satisfies { readonly [code: string]: ErrorEntry & { readonly status: number } }
