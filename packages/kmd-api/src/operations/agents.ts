/**
 * The owner's operations on agents. Any operation that can widen an agent's permissions needs the password of its
 * wallet.
 */

import { define, extraPrefix, ownersAlone } from '../Description.js'
import { ascii, bytes, password, text, uint } from '../members.js'
import { bounds } from '../rules/bounds.js'
import { agentMember, agentShape, budgetMember, decisionMembers, rulesField } from './agentSchema.js'
import { auditRecord } from './auditSchema.js'

const agentField = { name: 'agent', kind: text, about: 'The name or the id of the agent' } as const

const walletId = { name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' } as const

const expiry = {
  name: 'expires_at_ms',
  kind: uint,
  about: 'In milliseconds since 1970; 0 or absent for never',
} as const

const tokenMember = {
  name: 'token',
  shape: { type: 'string' },
  about: 'Returned only once: the daemon does not keep it',
} as const

const changeErrors = ['agent_not_found', 'agent_ended', 'state_not_written'] as const

/** The owner's operations on agents. */
export const agentOperations = {
  ListAgents: define({
    method: 'GET',
    path: `${extraPrefix}/agents`,
    about: 'Lists all agents, including those that have ended.',
    request: [],
    response: [{ name: 'agents', shape: { type: 'list', of: agentShape } }],
    responseName: 'ListAgentsResponse',
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  CreateAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agents`,
    once: true,
    about: 'Creates an agent: a token that lets a program sign with keys of one wallet, within rules.',
    request: [
      { name: 'name', kind: text, about: '1 to 64 visible characters; no other agent may have this name' },
      walletId,
      password,
      {
        name: 'addresses',
        kind: {
          type: 'list',
          of: ascii,
          max: bounds.keys,
          tooLong: 'bad_agent',
          tooLongText: `addresses is too long, must be <= ${bounds.keys}`,
        },
        about: `Addresses of the keys that the agent may use, 1 to ${bounds.keys}`,
      },
      rulesField,
      expiry,
    ],
    response: [agentMember, tokenMember],
    responseName: 'CreateAgentResponse',
    errors: ['bad_agent', 'agent_name_taken', 'too_many_agents', 'key_not_found', 'state_not_written'],
    walletFailure: 400,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  ShowAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agents/show`,
    about: 'Describes an agent, with what is left of each limit and its latest records in the audit log.',
    request: [agentField],
    response: [
      agentMember,
      budgetMember,
      { name: 'history', shape: { type: 'list', of: auditRecord }, about: 'At most 100, newest first' },
      {
        name: 'continue_from',
        shape: { type: 'uint', format: 'int64' },
        about: 'The before_number of a search for older records; 0 if there are none',
      },
    ],
    responseName: 'ShowAgentResponse',
    errors: ['agent_not_found'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  PauseAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agents/pause`,
    about: 'Pauses an agent: it cannot sign until it is resumed. Its handles are released.',
    request: [agentField],
    response: [agentMember],
    responseName: 'PauseAgentResponse',
    errors: changeErrors,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  ResumeAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agents/resume`,
    about: 'Lets a paused or suspended agent sign again.',
    request: [agentField, password],
    response: [agentMember],
    responseName: 'ResumeAgentResponse',
    errors: [...changeErrors, 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  ConfirmAgents: define({
    method: 'POST',
    path: `${extraPrefix}/agents/confirm`,
    about:
      'Lets the suspended agents of a wallet sign again. Agents are suspended if the state database was rolled back or damaged: later spending may not be counted. Paused agents stay paused.',
    request: [walletId, password],
    response: [{ name: 'agents', shape: { type: 'list', of: agentShape }, about: 'The agents that were suspended' }],
    responseName: 'ConfirmAgentsResponse',
    errors: ['state_not_written', 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  RevokeAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agents/revoke`,
    about: 'Ends an agent permanently and deletes its copies of the keys. The wallet keeps its keys.',
    request: [agentField],
    response: [agentMember],
    responseName: 'RevokeAgentResponse',
    errors: changeErrors,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  SetAgentRules: define({
    method: 'POST',
    path: `${extraPrefix}/agents/rules`,
    about: "Replaces an agent's rules and expiry. Earlier spending still counts.",
    request: [agentField, password, rulesField, expiry],
    response: [agentMember],
    responseName: 'SetAgentRulesResponse',
    errors: [...changeErrors, 'bad_agent', 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  RotateAgentToken: define({
    method: 'POST',
    path: `${extraPrefix}/agents/rotate`,
    once: true,
    about: 'Gives an agent a new token. The old token and its handles become invalid; rules and budgets stay.',
    request: [agentField, password],
    response: [agentMember, tokenMember],
    responseName: 'RotateAgentTokenResponse',
    errors: [...changeErrors, 'key_not_found', 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'own',
  }),
  TestAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agents/test`,
    about: 'Returns the rule that would decide about a transaction of an agent, without signing or counting it.',
    request: [agentField, { name: 'transaction', kind: bytes, about: 'The msgpack of one transaction' }],
    response: decisionMembers,
    responseName: 'TestAgentResponse',
    errors: ['agent_not_found'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
}
