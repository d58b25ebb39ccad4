/** Manages a daemon's agents on behalf of their owner. */
import { Bytes } from '@latchkey/algorand'
import { writeRules } from '@latchkey/kmd-api/rules'
import { type AuditRecord, readRecord } from './Audit.js'
import type { Agent, AgentDecision, AgentLimitUse, NewAgentRules } from './agentTypes.js'
import { readAgent, readBudget, readDecision } from './agentWire.js'
import type { CallOptions, CallRequest, Connection } from './Connection.js'
import type { ResponseTo } from './operations.js'
import type { Password } from './Password.js'
import { withPasswords } from './Wallets.js'

/** Options of `kmd.agents.create`. */
export type CreateAgentOptions = CallOptions & {
  /** 1 to 64 visible characters, unique among agents. */
  name: string
  walletId: string
  /** The wallet's password. @default '' */
  password?: Password | undefined
  /** The keys of the wallet that the agent may use, at least one. */
  addresses: readonly string[]
  rules: NewAgentRules
  /** @default never */
  expiresAtMs?: number | undefined
}

/** Selects an agent by name or id. */
export type AgentOptions = CallOptions & { agent: string }

/** Options of calls that can widen an agent's permissions and need the password of its wallet. */
export type AgentPasswordOptions = AgentOptions & {
  /** @default '' */
  password?: Password | undefined
}

/** Options of `kmd.agents.confirm`. */
export type ConfirmAgentsOptions = CallOptions & {
  walletId: string
  /** @default '' */
  password?: Password | undefined
}

/** An agent with its token. The token is shown once. */
export type AgentWithToken = { agent: Agent; token: string }

/** An agent with the remaining budget of each limit and its latest audit records. */
export type ShownAgent = {
  agent: Agent
  budget: AgentLimitUse[]
  history: AuditRecord[]
  /** The `beforeNumber` for an audit search for older records; undefined if there are none. */
  continueFrom: number | undefined
}

/** The agents of a daemon: `kmd.agents`. Latchkey's daemon only. Every method throws {@link KmdClientError}. */
export class Agents {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Lists all agents, including ended ones. */
  async list(options: CallOptions = {}): Promise<Agent[]> {
    const { agents } = await this.#connection.call('ListAgents', options)
    return agents.map((agent) => readAgent('ListAgents', agent))
  }

  /**
   * Creates an agent. The token is returned only here; the daemon does not store it.
   *
   * @example
   * const limits = [{ per: 'day', network, type: 'amount', assetId: 0n, amount: 2_000_000n }] as const
   * const rules = { networks: [network], limits, payees: { allow: 'all' } } as const
   * const { token } = await kmd.agents.create({ name: 'shopper', walletId, password, addresses: [address], rules })
   */
  async create({ password = '', ...options }: CreateAgentOptions): Promise<AgentWithToken> {
    const { name, walletId, addresses, rules, expiresAtMs, ...callOptions } = options
    const expires = { expires_at_ms: expiresAtMs ?? 0 }
    const members = { name, wallet_id: walletId, addresses, rules: writeRules(rules), ...expires }
    const { agent, token } = await this.#callWithPassword('CreateAgent', password, { ...callOptions, members })
    return { agent: readAgent('CreateAgent', agent), token }
  }

  /** Describes an agent, the remaining budget of each limit, and its latest 100 audit records, newest first. */
  async show({ agent, ...options }: AgentOptions): Promise<ShownAgent> {
    const response = await this.#connection.call('ShowAgent', { ...options, members: { agent } })
    return {
      agent: readAgent('ShowAgent', response.agent),
      budget: readBudget(response.budget),
      history: response.history.map(readRecord),
      continueFrom: response.continueFrom || undefined,
    }
  }

  /** Stops an agent from signing until it is resumed. */
  async pause({ agent, ...options }: AgentOptions): Promise<Agent> {
    const response = await this.#connection.call('PauseAgent', { ...options, members: { agent } })
    return readAgent('PauseAgent', response.agent)
  }

  /**
   * Lets the suspended agents of a wallet sign again, and returns them. The daemon suspends agents if its state
   * database was rolled back or damaged, because any spending recorded since then is lost and not counted.
   */
  async confirm({ walletId, password = '', ...options }: ConfirmAgentsOptions): Promise<Agent[]> {
    const request = { ...options, members: { wallet_id: walletId } }
    const { agents } = await this.#callWithPassword('ConfirmAgents', password, request)
    return agents.map((agent) => readAgent('ConfirmAgents', agent))
  }

  /** Lets a paused or suspended agent sign again. */
  async resume({ agent, password = '', ...options }: AgentPasswordOptions): Promise<Agent> {
    const response = await this.#callWithPassword('ResumeAgent', password, { ...options, members: { agent } })
    return readAgent('ResumeAgent', response.agent)
  }

  /** Revokes an agent permanently. */
  async revoke({ agent, ...options }: AgentOptions): Promise<Agent> {
    const response = await this.#connection.call('RevokeAgent', { ...options, members: { agent } })
    return readAgent('RevokeAgent', response.agent)
  }

  /** Replaces an agent's rules and expiry. Earlier spending still counts. */
  async setRules({
    agent,
    password = '',
    rules,
    expiresAtMs,
    ...options
  }: AgentPasswordOptions & {
    rules: NewAgentRules
    /** Undefined if the agent never expires. */
    expiresAtMs: number | undefined
  }): Promise<Agent> {
    const members = { agent, rules: writeRules(rules), expires_at_ms: expiresAtMs ?? 0 }
    const response = await this.#callWithPassword('SetAgentRules', password, { ...options, members })
    return readAgent('SetAgentRules', response.agent)
  }

  /** Replaces an agent's token; the old token stops working. Rules and budgets stay the same. */
  async rotate({ agent, password = '', ...options }: AgentPasswordOptions): Promise<AgentWithToken> {
    const response = await this.#callWithPassword('RotateAgentToken', password, { ...options, members: { agent } })
    return { agent: readAgent('RotateAgentToken', response.agent), token: response.token }
  }

  /** Returns the rule that would decide about a transaction (msgpack), without signing or counting it. */
  async test({ agent, transaction, ...options }: AgentOptions & { transaction: Uint8Array }): Promise<AgentDecision> {
    const members = { agent, transaction: Bytes.toBase64(transaction) }
    return readDecision('TestAgent', await this.#connection.call('TestAgent', { ...options, members }))
  }

  #callWithPassword<Id extends OperationWithPassword>(
    operation: Id,
    password: Password,
    request: CallRequest<Id>,
  ): Promise<ResponseTo<Id>> {
    return withPasswords({ wallet_password: password }, operation, (secrets) =>
      this.#connection.call(operation, { ...request, secrets } as CallRequest<Id>),
    )
  }
}

type OperationWithPassword = 'CreateAgent' | 'ConfirmAgents' | 'ResumeAgent' | 'SetAgentRules' | 'RotateAgentToken'
