/** The reference wire for agents: one wallet, the agent's own keys, handles without a password. */
import { type Transaction, UptoProgram, type UptoTerms } from '@latchkey/algorand'
import type { Agent } from '../agents/Agent.js'
import type { Claim } from '../agents/AgentsApi.js'
import { KmdError } from '../errors.js'
import type { Entry } from '../wallet/WalletDirectory.js'
import type { AgentCaller, Context } from './Context.js'
import { walletMember } from './walletMembers.js'

/** The agent's wallet; none if the file is gone. */
export async function listWallets({ wallets, agents }: Context, { agent }: AgentCaller) {
  const { walletId } = agents.get(agent.agentId)
  return { wallets: (await wallets.list()).filter(({ key }) => key === walletId).map(walletMember) }
}

/** Ignores the password. The response for any other wallet is the same, whether it exists or not. */
export async function openHandle(context: Context, caller: AgentCaller, walletId: string) {
  const { id } = requireWallet(context, caller, walletId)
  // Ends the agent if its wallet or one of its keys is gone.
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
