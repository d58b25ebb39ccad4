/** Operations for agents beyond the reference wire. */
import { Address, Bytes, UptoProgram, type UptoTerms, VisibleText } from '@latchkey/algorand'
import { auditBounds } from '@latchkey/kmd-api'
import type { Claim } from '../agents/AgentsApi.js'
import { KmdError } from '../errors.js'
import { describeAgent, describeBudget, describeHistory, readTransaction, writeDecision } from './agentOutput.js'
import * as AgentWallet from './agentWallet.js'
import type { Implementations, InputOf } from './Implementation.js'
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
  SignUptoAsAgent: {
    runAsAgent: async (context, input, caller) => {
      const terms = readTerms(input)
      const signer = isZero(input.public_key) ? Address.decode(terms.payer) : input.public_key
      const claim = readClaim(input.claimed_url, input.claimed_description)
      const signature = await AgentWallet.signUpto(context, caller, { terms, signer, claim })
      return { authorization_id: UptoProgram.idOf(terms.lease), program: UptoProgram.build(terms), signature }
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

/** The terms of an authorization. Its lease is derived here, so that no two authorizations share one. */
function readTerms(input: InputOf<'SignUptoAsAgent'>): UptoTerms {
  const { payer, pay_to: payTo, facilitator, network, nonce } = input
  const genesisHash = Bytes.fromBase64(network)
  const [assetId, maxAmount, lastValid] = [input.asset_id, input.max_amount, input.last_valid].map(readInteger)
  const isComplete =
    [payer, payTo, facilitator].every((address) => Address.isValid(address)) &&
    genesisHash?.length === 32 &&
    nonce.length === UptoProgram.nonceLength
  if (!isComplete || assetId === undefined || maxAmount === undefined || lastValid === undefined) {
    throw new KmdError('bad_authorization')
  }
  const terms = { payer, payTo, facilitator, assetId, maxAmount, lastValid, genesisHash }
  return { ...terms, lease: UptoProgram.leaseOf(terms, nonce) }
}

function readInteger(digits: string): bigint | undefined {
  const value = /^\d{1,20}$/.test(digits) ? BigInt(digits) : undefined
  return value === undefined || value >= 2n ** 64n ? undefined : value
}

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
