/**
 * The owner's operations on agents. Any operation that can widen an agent's permissions needs the password of its
 * wallet.
 */
import { Address } from '@latchkey/algorand'
import type { Written } from '@latchkey/kmd-api'
import { formatLimit, type Rules, writeLimit, writeRules } from '@latchkey/kmd-api/rules'
import type { Agent } from '../agents/Agent.js'
import type { Seen } from '../agents/AgentPresence.js'
import type { GrantedKey, LimitUse } from '../agents/AgentsApi.js'
import { checkKeys, readExpiry, readName, readRules } from '../agents/checkAgent.js'
import type { Decision } from '../agents/Decision.js'
import { refusalJson } from '../agents/refusalError.js'
import type { Query } from '../audit/searchLog.js'
import { normalizeLabel } from '../contacts/Contacts.js'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import { recordOutputs } from './auditOperations.js'
import { actorOf, type Context } from './Context.js'
import type { Implementations } from './Implementation.js'
import { readTransaction } from './members.js'

const mostHistory = 100

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

export async function describeAgent(context: Context, agent: Agent) {
  const [described] = await describeAgents(context, [agent])
  return described!
}

export async function describeBudget({ agents }: Context, { id, rules }: Agent) {
  await agents.prepare(id)
  return agents.budget(id).map((use) => writeUse(use, rules))
}

/** Audit records, newest first. */
export async function describeHistory({ audit, wallets }: Context, query: Query) {
  const { records, continueFrom = 0 } = await audit.search(query)
  return { records: await recordOutputs(records, wallets), continue_from: continueFrom }
}

export function writeDecision(decision: Decision) {
  if (decision.type === 'allowed') return { decision: decision.type, rule: decision.rule, refusal: undefined }
  return { decision: decision.type, rule: decision.refusal.rule, refusal: refusalJson(decision.refusal) }
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
