/**
 * An agent with its own token: its operations, and its view of the reference wire (one wallet, its own keys, handles
 * without a password).
 */
import { Address, Bytes, type Transaction, UptoProgram, type UptoTerms, VisibleText } from '@latchkey/algorand'
import { auditBounds } from '@latchkey/kmd-api'
import type { Agent } from '../agents/Agent.js'
import type { Claim } from '../agents/AgentsApi.js'
import { KmdError } from '../errors.js'
import type { Entry } from '../wallet/WalletDirectory.js'
import { describeAgent, describeBudget, describeHistory, writeDecision } from './agentOperations.js'
import type { AgentCaller, Context } from './Context.js'
import type { Implementations, InputOf } from './Implementation.js'
import { readTransaction, walletMember } from './members.js'

/** The operations of an agent with its own token. */
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
      const signer = Bytes.isZero(input.public_key) ? unsigned.sender : input.public_key
      const claim = readClaim(input.claimed_url, input.claimed_description)
      return { signed_transaction: await sign(context, caller, { transaction: unsigned, signer, claim }) }
    },
  },
  SignUptoAsAgent: {
    runAsAgent: async (context, input, caller) => {
      const terms = readTerms(input)
      const signer = Bytes.isZero(input.public_key) ? Address.decode(terms.payer) : input.public_key
      const claim = readClaim(input.claimed_url, input.claimed_description)
      const signature = await signUpto(context, caller, { terms, signer, claim })
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

/** The agent's wallet; none if the file is gone. */
export async function listWallets({ wallets, agents }: Context, { agent }: AgentCaller) {
  const { walletId } = agents.get(agent.agentId)
  return { wallets: (await wallets.list()).filter(({ key }) => key === walletId).map(walletMember) }
}

/** Ignores the password. The response for any other wallet is the same, whether it exists or not. */
export async function openHandle(context: Context, caller: AgentCaller, walletId: string) {
  const { id } = requireWallet(context, caller, walletId)
  await context.agents.requireKeys(id)
  return { wallet_handle_token: context.agentHandles.open(caller.agent) }
}

export async function describeHandle(context: Context, { agent }: AgentCaller, token: string) {
  const expiresSeconds = context.agentHandles.expiresSeconds(agent, token)
  const entry = await findWallet(context, context.agents.get(agent.agentId))
  return { wallet_handle: { expires_seconds: expiresSeconds, wallet: walletMember(entry) } }
}

export function listKeys({ agents, agentHandles }: Context, { agent }: AgentCaller, token: string) {
  agentHandles.require(agent, token)
  return { addresses: agents.get(agent.agentId).addresses }
}

export type AgentSignature = {
  transaction: Transaction.Canonical
  /** The key to sign with. */
  signer: Uint8Array
  claim: Claim
}

/** Signs within the rules. @throws {@link KmdError} with the refusal */
export async function sign(
  { agents, signatureLog }: Context,
  { agent }: AgentCaller,
  { transaction, signer, claim }: AgentSignature,
): Promise<Uint8Array> {
  const { walletId } = agents.get(agent.agentId)
  if (signer.length !== 32) throw new KmdError('agent_wallet_forbidden')
  const signed = await agents.sign(agent, transaction, signer, claim)
  signatureLog.add(walletId, transaction.bytes, false)
  return signed
}

export type AgentAuthorization = {
  terms: UptoTerms
  /** The key to sign with. */
  signer: Uint8Array
  claim: Claim
}

/** Signs an authorization for a price by usage, within the rules. @throws {@link KmdError} with the refusal */
export async function signUpto(
  { agents, signatureLog }: Context,
  { agent }: AgentCaller,
  { terms, signer, claim }: AgentAuthorization,
): Promise<Uint8Array> {
  const { walletId } = agents.get(agent.agentId)
  if (signer.length !== 32) throw new KmdError('agent_wallet_forbidden')
  const signature = await agents.signUpto(agent, terms, signer, claim)
  signatureLog.addProgram(walletId, UptoProgram.build(terms), signer, false)
  return signature
}

/** Restricts an agent to its own addresses. */
export function requireOwnAddresses({ agents }: Context, { agent }: AgentCaller, addresses: readonly string[]): void {
  const own = agents.get(agent.agentId).addresses
  if (!addresses.every((address) => own.includes(address))) throw new KmdError('agent_wallet_forbidden')
}

function requireWallet({ agents }: Context, { agent }: AgentCaller, walletId: string): Agent {
  const own = agents.get(agent.agentId)
  if (own.walletId !== walletId) throw new KmdError('agent_wallet_forbidden')
  return own
}

async function findWallet({ wallets }: Context, { walletId }: Agent): Promise<Entry> {
  const entry = (await wallets.list()).find(({ key }) => key === walletId)
  if (entry === undefined) throw new KmdError('agent_wallet_forbidden')
  return entry
}
