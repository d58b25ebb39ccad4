/** Operations for agents beyond the reference wire. */
import { VisibleText } from '@latchkey/algorand'
import { auditBounds } from '@latchkey/kmd-api'
import type { Claim } from '../agents/AgentsApi.js'
import { KmdError } from '../errors.js'
import { describeAgent, describeBudget, describeHistory, readTransaction, writeDecision } from './agentOutput.js'
import * as AgentWallet from './agentWallet.js'
import type { Implementations } from './Implementation.js'
import { isZero } from './signing.js'

export const ownAgentOperations = {
  GetOwnAgent: {
    runAsAgent: async (context, _input, caller) => {
      const agent = context.agents.get(caller.agent.agentId)
      return { agent: await describeAgent(context, agent), budget: await describeBudget(context, agent) }
    },
  },
  SignAsAgent: {
    runAsAgent: async (context, input, caller) => {
      const unsigned = readTransaction(input.transaction)
      const signer = isZero(input.public_key) ? unsigned.sender : input.public_key
      const claim = readClaim(input.claimed_url, input.claimed_description)
      return { signed_transaction: await AgentWallet.sign(context, caller, { transaction: unsigned, signer, claim }) }
    },
  },
  TestOwnAgent: {
    runAsAgent: async (context, input, caller) => {
      const { agentId } = caller.agent
      const unsigned = readTransaction(input.transaction)
      await context.agents.prepareTest(unsigned)
      await context.agents.prepare(agentId)
      return writeDecision(context.agents.test(agentId, unsigned))
    },
  },
  ListOwnRecords: {
    runAsAgent: async (context, input, caller) => {
      const { agentId } = caller.agent
      if (input.count > mostRecords) {
        throw new KmdError('bad_audit_query', { message: `count must be <= ${mostRecords}` })
      }
      const beforeNumber = input.before_number === 0 ? undefined : input.before_number
      return describeHistory(context, { agent: agentId, beforeNumber, count: input.count || defaultRecords })
    },
  },
} satisfies Partial<Implementations>

const { mostRecords, defaultRecords } = auditBounds

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
