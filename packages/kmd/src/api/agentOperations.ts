/**
 * The owner's operations on agents. Any operation that can widen an agent's permissions needs the password of its
 * wallet.
 */
import { Address } from '@latchkey/algorand'
import { bounds } from '@latchkey/kmd-api/rules'
import type { Agent } from '../agents/Agent.js'
import type { GrantedKey } from '../agents/AgentsApi.js'
import { checkKeys, readExpiry, readName, readRules } from '../agents/checkAgent.js'
import type { Actor } from '../audit/AuditRecord.js'
import * as Label from '../contacts/Label.js'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import { agentMember, agentShape, budgetMember, decisionMembers, rulesField } from './agentMembers.js'
import {
  describeAgent,
  describeAgents,
  describeBudget,
  describeHistory,
  readTransaction,
  writeDecision,
} from './agentOutput.js'
import { auditRecord } from './auditOperations.js'
import type { Caller } from './Caller.js'
import type { Context } from './Context.js'
import { extraPrefix } from './latchkeyOperations.js'
import { ascii, bytes, define, password, text, uint } from './Operation.js'

const agentField = { name: 'agent', kind: text, about: 'The name or the id of the agent' } as const
const walletId = { name: 'wallet_id', kind: ascii, about: 'The id of the wallet, as listed' } as const
const expiry = { name: 'expires_at_ms', kind: uint, about: 'In milliseconds since 1970; 0 or absent is never' } as const
const tokenMember = {
  name: 'token',
  shape: { type: 'string' },
  about: 'Shown here once: the daemon does not keep it',
} as const

const mostHistory = 100

const changeErrors = ['agent_not_found', 'agent_ended', 'state_not_written'] as const

export const agentOperations = [
  define({
    id: 'ListAgents',
    method: 'GET',
    path: `${extraPrefix}/agents`,
    about: 'Lists all agents, also those that have ended.',
    request: [],
    response: [{ name: 'agents', shape: { type: 'list', of: agentShape } }],
    responseName: 'ListAgentsResponse',
    run: async (context) => ({ agents: await describeAgents(context, context.agents.list()) }),
  }),
  define({
    id: 'CreateAgent',
    method: 'POST',
    path: `${extraPrefix}/agents`,
    once: true,
    about: 'Makes an agent: a token that lets a program sign with keys of one wallet, within rules.',
    request: [
      { name: 'name', kind: text, about: '1 to 64 visible characters that no other agent is named by' },
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
        about: `The keys of the wallet that it may use, 1 to ${bounds.keys}`,
      },
      rulesField,
      expiry,
    ],
    response: [agentMember, tokenMember],
    responseName: 'CreateAgentResponse',
    errors: ['bad_agent', 'agent_name_taken', 'too_many_agents', 'key_not_found', 'state_not_written'],
    walletFailure: 400,
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
  }),
  define({
    id: 'ShowAgent',
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
  }),
  define({
    id: 'PauseAgent',
    method: 'POST',
    path: `${extraPrefix}/agents/pause`,
    about: 'Keeps an agent from signing until it is resumed. Its handles end.',
    request: [agentField],
    response: [agentMember],
    responseName: 'PauseAgentResponse',
    errors: changeErrors,
    run: async (context, input, caller) => {
      const { id } = findAgent(context, input.agent)
      const paused = await context.agents.pause(id, actorOf(caller))
      context.agentHandles.releaseAgent(id)
      return { agent: await describeAgent(context, paused) }
    },
  }),
  define({
    id: 'ResumeAgent',
    method: 'POST',
    path: `${extraPrefix}/agents/resume`,
    about: 'Lets a paused or suspended agent sign again.',
    request: [agentField, password],
    response: [agentMember],
    responseName: 'ResumeAgentResponse',
    errors: [...changeErrors, 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    run: async (context, input, caller) => {
      const { id, walletId } = findAgent(context, input.agent)
      await checkPassword(context, walletId, input.wallet_password)
      return { agent: await describeAgent(context, await context.agents.resume(id, actorOf(caller))) }
    },
  }),
  define({
    id: 'ConfirmAgents',
    method: 'POST',
    path: `${extraPrefix}/agents/confirm`,
    about:
      'Lets the suspended agents of a wallet sign again. They are suspended when the state database was rolled back or damaged: what they spent since then is not counted. Paused ones stay paused.',
    request: [walletId, password],
    response: [{ name: 'agents', shape: { type: 'list', of: agentShape }, about: 'Those that were suspended' }],
    responseName: 'ConfirmAgentsResponse',
    errors: ['state_not_written', 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    run: async (context, input, caller) => {
      await checkPassword(context, input.wallet_id, input.wallet_password)
      return { agents: await describeAgents(context, await context.agents.confirm(input.wallet_id, actorOf(caller))) }
    },
  }),
  define({
    id: 'RevokeAgent',
    method: 'POST',
    path: `${extraPrefix}/agents/revoke`,
    about: 'Ends an agent for good. Its keys are deleted from the daemon, those of the wallet are not.',
    request: [agentField],
    response: [agentMember],
    responseName: 'RevokeAgentResponse',
    errors: changeErrors,
    run: async (context, input, caller) => {
      const { id } = findAgent(context, input.agent)
      const revoked = await context.agents.revoke(id, actorOf(caller))
      context.agentHandles.releaseAgent(id)
      return { agent: await describeAgent(context, revoked) }
    },
  }),
  define({
    id: 'SetAgentRules',
    method: 'POST',
    path: `${extraPrefix}/agents/rules`,
    about: 'Replaces the rules and the end of an agent. What it has spent still counts.',
    request: [agentField, password, rulesField, expiry],
    response: [agentMember],
    responseName: 'SetAgentRulesResponse',
    errors: [...changeErrors, 'bad_agent', 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    run: async (context, input, caller) => {
      const { id, walletId } = findAgent(context, input.agent)
      const change = { rules: readRules(input.rules), expiresAtMs: readExpiry(input.expires_at_ms, Date.now()) }
      await checkPassword(context, walletId, input.wallet_password)
      return { agent: await describeAgent(context, await context.agents.setRules(id, change, actorOf(caller))) }
    },
  }),
  define({
    id: 'RotateAgentToken',
    method: 'POST',
    path: `${extraPrefix}/agents/rotate`,
    once: true,
    about: 'Gives an agent another token. The old one and the handles it opened end; rules and budgets stay.',
    request: [agentField, password],
    response: [agentMember, tokenMember],
    responseName: 'RotateAgentTokenResponse',
    errors: [...changeErrors, 'key_not_found', 'wallet_not_found', 'derivation_busy'],
    walletFailure: 400,
    run: async (context, input, caller) => {
      const { id, walletId, addresses } = findAgent(context, input.agent)
      const { wallet_password: password } = input
      const { agent, token } = await withKeys(context, { walletId, password, addresses }, (keys) =>
        context.agents.rotate(id, keys, actorOf(caller)),
      )
      context.agentHandles.releaseAgent(id)
      return { agent: await describeAgent(context, agent), token }
    },
  }),
  define({
    id: 'TestAgent',
    method: 'POST',
    path: `${extraPrefix}/agents/test`,
    about: 'Tells which rule of an agent would decide about a transaction, without signing or counting it.',
    request: [agentField, { name: 'transaction', kind: bytes, about: 'The msgpack of one transaction' }],
    response: decisionMembers,
    responseName: 'TestAgentResponse',
    errors: ['agent_not_found'],
    run: async (context, input) => {
      const { id } = findAgent(context, input.agent)
      const transaction = readTransaction(input.transaction)
      await context.agents.prepareTest(transaction)
      await context.agents.prepare(id)
      return writeDecision(context.agents.test(id, transaction))
    },
  }),
]

/** The actor of a change to an agent, for the audit log. */
function actorOf(caller: Caller): Actor {
  return caller.type === 'session' ? { type: 'console' } : { type: 'owner' }
}

function findAgent({ agents }: Context, given: Uint8Array): Agent {
  const name = Label.normalize(Buffer.from(given).toString('utf8'))
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
    throw new KmdError('key_not_found', { message: `${address} is no key of this wallet`, cause: error })
  }
}
