/**
 * Operations on agents: the owner's, and those of agents beyond the reference wire. Any operation that can widen an
 * agent's permissions needs the password of its wallet.
 */
import { Address, Bytes, type Transaction, UptoProgram, type UptoTerms, VisibleText } from '@latchkey/algorand'
import { auditBounds, type Written } from '@latchkey/kmd-api'
import { formatLimit, type Rules, writeLimit, writeRules } from '@latchkey/kmd-api/rules'
import type { Agent } from '../agents/Agent.js'
import type { Seen } from '../agents/AgentPresence.js'
import type { Claim, Decision, GrantedKey, LimitUse } from '../agents/AgentsApi.js'
import { checkKeys, readExpiry, readName, readRules } from '../agents/checkAgent.js'
import { refusalJson } from '../agents/refusalError.js'
import type { Query } from '../audit/searchLog.js'
import { normalizeLabel } from '../contacts/Contacts.js'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import * as AgentWallet from './agentWallet.js'
import { recordOutputs } from './auditOperations.js'
import { actorOf, type Context } from './Context.js'
import type { Implementations, InputOf } from './Implementation.js'
import { isZero } from './signing.js'
import { readTransactions } from './transferOperations.js'

const mostHistory = 100

/** The owner's operations. */
export const agentOperations = {
  ListAgents: {
    run: async (context) => ({ agents: await describeAgents(context, context.agents.list()) }),
  },
  CreateAgent: {
    run: async (context, input, caller) => {
      const { addresses } = input
      const name = readName(input.name)
      // A name is looked up among the ids, too.
      if (context.agents.list().some(({ id }) => id === name)) throw new KmdError('agent_name_taken')
      checkKeys(addresses)
      const rules = readRules(input.rules)
      const expiresAtMs = readExpiry(input.expires_at_ms, Date.now())
      const { wallet_id: walletId, wallet_password: password } = input
      const { agent, token } = await withKeys(context, { walletId, password, addresses }, (keys) =>
        context.agents.create({ name, walletId, keys, rules, expiresAtMs }, actorOf(caller)),
      )
      return { agent: await describeAgent(context, agent), token }
    },
  },
  ShowAgent: {
    run: async (context, input) => {
      const agent = findAgent(context, input.agent)
      const history = await describeHistory(context, { agent: agent.id, count: mostHistory })
      return {
        agent: await describeAgent(context, agent),
        budget: await describeBudget(context, agent),
        history: history.records,
        continue_from: history.continue_from,
      }
    },
  },
  PauseAgent: {
    run: async (context, input, caller) => {
      const { id } = findAgent(context, input.agent)
      const paused = await context.agents.pause(id, actorOf(caller))
      context.agentHandles.releaseAgent(id)
      return { agent: await describeAgent(context, paused) }
    },
  },
  ResumeAgent: {
    run: async (context, input, caller) => {
      const { id, walletId } = findAgent(context, input.agent)
      await checkPassword(context, walletId, input.wallet_password)
      return { agent: await describeAgent(context, await context.agents.resume(id, actorOf(caller))) }
    },
  },
  ConfirmAgents: {
    run: async (context, input, caller) => {
      await checkPassword(context, input.wallet_id, input.wallet_password)
      return { agents: await describeAgents(context, await context.agents.confirm(input.wallet_id, actorOf(caller))) }
    },
  },
  RevokeAgent: {
    run: async (context, input, caller) => {
      const { id } = findAgent(context, input.agent)
      const revoked = await context.agents.revoke(id, actorOf(caller))
      context.agentHandles.releaseAgent(id)
      return { agent: await describeAgent(context, revoked) }
    },
  },
  SetAgentRules: {
    run: async (context, input, caller) => {
      const { id, walletId } = findAgent(context, input.agent)
      const change = { rules: readRules(input.rules), expiresAtMs: readExpiry(input.expires_at_ms, Date.now()) }
      await checkPassword(context, walletId, input.wallet_password)
      return { agent: await describeAgent(context, await context.agents.setRules(id, change, actorOf(caller))) }
    },
  },
  RotateAgentToken: {
    run: async (context, input, caller) => {
      const { id, walletId, addresses } = findAgent(context, input.agent)
      const { wallet_password: password } = input
      const { agent, token } = await withKeys(context, { walletId, password, addresses }, (keys) =>
        context.agents.rotate(id, keys, actorOf(caller)),
      )
      context.agentHandles.releaseAgent(id)
      return { agent: await describeAgent(context, agent), token }
    },
  },
  TestAgent: {
    run: async (context, input) => {
      const { id } = findAgent(context, input.agent)
      const transaction = readTransaction(input.transaction)
      await context.agents.prepareTest(transaction)
      await context.agents.prepare(id)
      return writeDecision(context.agents.test(id, transaction))
    },
  },
} satisfies Partial<Implementations>

function findAgent({ agents }: Context, given: Uint8Array): Agent {
  const name = normalizeLabel(Buffer.from(given).toString('utf8'))
  if (name === undefined) throw new KmdError('agent_not_found')
  return agents.find(name)
}

async function withUnlocked<T>(
  { wallets }: Context,
  { walletId, password }: { walletId: string; password: Buffer },
  use: (wallet: UnlockedWallet) => Promise<T>,
): Promise<T> {
  const entry = await wallets.find(walletId)
  const wallet = await wallets.unlock(entry, password, (unlocked) => unlocked)
  try {
    return await use(wallet)
  } finally {
    wallet.lock()
  }
}

async function checkPassword(context: Context, walletId: string, password: Buffer): Promise<void> {
  await withUnlocked(context, { walletId, password }, async () => {})
}

type Grant = { walletId: string; password: Buffer; addresses: readonly string[] }

/** Reads and grants the keys in one turn. A deletion comes before both, or after both and then ends the agent. */
function withKeys<T>(context: Context, grant: Grant, use: (keys: readonly GrantedKey[]) => Promise<T>): Promise<T> {
  return withUnlocked(context, grant, (wallet) =>
    context.walletTurns.run(grant.walletId, async () => {
      const keys: GrantedKey[] = []
      try {
        await retryWhileLocked(() => {
          wallet.requireSamePassword()
          for (const address of grant.addresses.slice(keys.length)) keys.push(exportKey(wallet, address))
        })
        return await use(keys)
      } finally {
        for (const { privateKey } of keys) Secret.wipe(privateKey)
      }
    }),
  )
}

function exportKey(wallet: UnlockedWallet, address: string): GrantedKey {
  try {
    return { address, privateKey: wallet.exportKey(Address.decode(address)) }
  } catch (error) {
    if (!(error instanceof KmdError) || error.code !== 'key_not_found') throw error
    throw new KmdError('key_not_found', { message: `${address} is not a key of this wallet`, cause: error })
  }
}

const nothing = new Uint8Array()

async function describeAgents({ wallets, agentPresence }: Context, agents: readonly Agent[]) {
  // Agents are listed even if the wallets directory cannot be read.
  const entries = await wallets.list().catch(() => [])
  const names = new Map(entries.map(({ key, name }) => [key, name]))
  return agents.map((agent) => writeAgent(agent, names.get(agent.walletId) ?? nothing, agentPresence.of(agent.id)))
}

async function describeAgent(context: Context, agent: Agent) {
  const [described] = await describeAgents(context, [agent])
  return described!
}

async function describeBudget({ agents }: Context, { id, rules }: Agent) {
  await agents.prepare(id)
  return agents.budget(id).map((use) => writeUse(use, rules))
}

/** Audit records, newest first. */
async function describeHistory({ audit, wallets }: Context, query: Query) {
  const { records, continueFrom = 0 } = await audit.search(query)
  return { records: await recordOutputs(records, wallets), continue_from: continueFrom }
}

function writeDecision(decision: Decision) {
  if (decision.type === 'allowed') return { decision: decision.type, rule: decision.rule, refusal: undefined }
  return { decision: decision.type, rule: decision.refusal.rule, refusal: refusalJson(decision.refusal) }
}

/** Reads a single transaction, signed or unsigned. */
function readTransaction(given: Uint8Array): Transaction.Canonical {
  const [member, ...others] = readTransactions(given)
  if (member === undefined || others.length > 0) {
    throw new KmdError('bad_transaction', {
      message: 'send one transaction: each member of a group is decided separately',
    })
  }
  return { bytes: member.bytes, sender: member.transaction.snd }
}

function writeAgent(agent: Agent, walletName: Uint8Array, seen: Seen | undefined) {
  return {
    id: agent.id,
    name: agent.name,
    wallet_id: agent.walletId,
    wallet_name: walletName,
    addresses: agent.addresses,
    state: agent.state,
    suspended_reason: agent.suspendedReason ?? '',
    created_at_ms: agent.createdAtMs,
    expires_at_ms: agent.expiresAtMs ?? 0,
    last_used_at_ms: Math.max(agent.lastUsedAtMs ?? 0, seen?.lastUsedAtMs ?? 0),
    same_user: seen?.isSameUser ?? false,
    rules: writeRules(agent.rules),
  } satisfies Written['agent']
}

function writeUse(use: LimitUse, { dollars }: Rules) {
  return {
    limit: writeLimit(use.limit),
    text: formatLimit(use.limit, dollars),
    used: String(use.used),
    left: String(use.left),
    resets_at_ms: use.resetsAtMs ?? 0,
  }
}

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
