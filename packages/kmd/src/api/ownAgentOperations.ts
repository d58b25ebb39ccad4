/** Operations for agents beyond the reference wire. */
import { VisibleText } from '@latchkey/algorand'
import type { Claim } from '../agents/AgentsApi.js'
import { KmdError } from '../errors.js'
import { agentMember, budgetMember, decisionMembers } from './agentMembers.js'
import { describeAgent, describeBudget, describeHistory, readTransaction, writeDecision } from './agentOutput.js'
import * as AgentWallet from './agentWallet.js'
import { auditRecord } from './auditOperations.js'
import { requireAgent } from './Caller.js'
import { extraPrefix } from './latchkeyOperations.js'
import { bytes, define, publicKey, text, uint } from './Operation.js'
import { isZero } from './signing.js'

const transaction = { name: 'transaction', kind: bytes, about: 'The msgpack of one transaction' } as const

export const ownAgentOperations = [
  define({
    id: 'GetOwnAgent',
    method: 'GET',
    path: `${extraPrefix}/agent`,
    about: 'Describes the agent whose token is used, with what is left of each limit.',
    request: [],
    response: [agentMember, budgetMember],
    responseName: 'GetOwnAgentResponse',
    errors: ['agent_token_required'],
    run: async (context, _input, caller) => {
      const agent = context.agents.get(requireAgent(caller).agent.agentId)
      return { agent: await describeAgent(context, agent), budget: await describeBudget(context, agent) }
    },
  }),
  define({
    id: 'SignAsAgent',
    method: 'POST',
    path: `${extraPrefix}/agent/sign`,
    about: 'Signs a transaction within the rules of the agent. No handle is needed.',
    request: [
      transaction,
      { name: 'public_key', kind: publicKey, about: 'The key to sign with, where it is not the sender' },
      { name: 'claimed_url', kind: text, about: 'What is paid for; shown to the owner as the claim of the agent' },
      { name: 'claimed_description', kind: text, about: 'The same, in words' },
    ],
    response: [{ name: 'signed_transaction', shape: { type: 'base64' } }],
    responseName: 'SignAsAgentResponse',
    errors: ['agent_token_required', 'agent_wallet_forbidden', 'state_not_written'],
    run: async (context, input, caller) => {
      const agent = requireAgent(caller)
      const unsigned = readTransaction(input.transaction)
      const signer = isZero(input.public_key) ? unsigned.sender : input.public_key
      const claim = readClaim(input.claimed_url, input.claimed_description)
      return { signed_transaction: await AgentWallet.sign(context, agent, { transaction: unsigned, signer, claim }) }
    },
  }),
  define({
    id: 'TestOwnAgent',
    method: 'POST',
    path: `${extraPrefix}/agent/test`,
    about: 'Tells which rule would decide about a transaction, without signing or counting it.',
    request: [transaction],
    response: decisionMembers,
    responseName: 'TestOwnAgentResponse',
    errors: ['agent_token_required'],
    run: async (context, input, caller) => {
      const { agentId } = requireAgent(caller).agent
      const unsigned = readTransaction(input.transaction)
      await context.agents.prepareTest(unsigned)
      await context.agents.prepare(agentId)
      return writeDecision(context.agents.test(agentId, unsigned))
    },
  }),
  define({
    id: 'ListOwnRecords',
    method: 'POST',
    path: `${extraPrefix}/agent/history`,
    about: 'Lists the records of the audit log about the agent, newest first: its signatures, refusals and changes.',
    request: [
      { name: 'before_number', kind: uint, about: 'Below this number; 0 or absent for the newest' },
      { name: 'count', kind: uint, about: 'At most 1000; absent for 100' },
    ],
    response: [
      { name: 'records', shape: { type: 'list', of: auditRecord } },
      {
        name: 'continue_from',
        shape: { type: 'uint', format: 'int64' },
        about: 'The next before_number; 0 if there is no more',
      },
    ],
    responseName: 'ListOwnRecordsResponse',
    errors: ['agent_token_required', 'bad_audit_query'],
    run: async (context, input, caller) => {
      const { agentId } = requireAgent(caller).agent
      if (input.count > mostRecords) {
        throw new KmdError('bad_audit_query', { message: `count is ${mostRecords} at most` })
      }
      const beforeNumber = input.before_number === 0 ? undefined : input.before_number
      return describeHistory(context, { agent: agentId, beforeNumber, count: input.count || defaultRecords })
    },
  }),
]

const mostRecords = 1_000
const defaultRecords = 100

const maxUrlLength = 2_048
const maxDescriptionLength = 1_024

function readClaim(url: Uint8Array, description: Uint8Array): Claim {
  return { url: readText(url, maxUrlLength), description: readText(description, maxDescriptionLength) }
}

/**
 * A claim is shown in terminals and pages, so hidden characters are replaced. Long text is truncated instead of
 * rejected: a seller wrote it, and it must not keep the agent from paying.
 */
function readText(given: Uint8Array, maxLength: number): string | undefined {
  if (given.length === 0) return undefined
  const whole = VisibleText.replaceHidden(Buffer.from(given.subarray(0, 4 * maxLength)).toString('utf8'), ' ')
  if (whole.length <= maxLength) return whole
  // Do not cut in the middle of a character.
  return `${whole.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
