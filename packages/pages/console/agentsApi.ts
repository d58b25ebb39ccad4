/** The daemon's operations on agents. Loaded only by the agent views. */
import { type Rules, writeRules } from '@latchkey/kmd-api/rules'
import type { Agent, AgentLimitUse } from '@latchkey/kmd-client'
import { toAgent, toLimitUse } from './agentResponses.js'
import type { Api } from './api.js'
import * as Fields from './fields.js'

export type NewAgent = {
  name: string
  walletId: string
  password: string
  addresses: readonly string[]
  rules: Rules
  expiresAtMs: number | undefined
}

const prefix = '/latchkey/v1'

export class AgentsApi {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  async list(): Promise<Agent[]> {
    return Fields.objects(await this.#api.send({ method: 'GET', path: `${prefix}/agents` }), 'agents').map(toAgent)
  }

  async show(id: string): Promise<{ agent: Agent; budget: readonly AgentLimitUse[] }> {
    const response = await this.#post('/agents/show', { agent: id })
    return {
      agent: toAgent(Fields.object(response, 'agent')),
      budget: Fields.objects(response, 'budget').map(toLimitUse),
    }
  }

  /** Returns the agent and its token, which the daemon does not show again. */
  async create({ name, walletId, password, addresses, rules, expiresAtMs = 0 }: NewAgent) {
    const grant = { name, wallet_id: walletId, wallet_password: password, addresses, expires_at_ms: expiresAtMs }
    return withToken(await this.#post('/agents', { ...grant, rules: writeRules(rules) }))
  }

  async pause(id: string): Promise<Agent> {
    return agentOf(await this.#post('/agents/pause', { agent: id }))
  }

  async resume(id: string, password: string): Promise<Agent> {
    return agentOf(await this.#post('/agents/resume', { agent: id, wallet_password: password }))
  }

  async confirm(walletId: string, password: string): Promise<void> {
    await this.#post('/agents/confirm', { wallet_id: walletId, wallet_password: password })
  }

  async revoke(id: string): Promise<Agent> {
    return agentOf(await this.#post('/agents/revoke', { agent: id }))
  }

  async setRules(options: {
    id: string
    password: string
    rules: Rules
    expiresAtMs: number | undefined
  }): Promise<Agent> {
    const { id, password, rules, expiresAtMs = 0 } = options
    const change = { agent: id, wallet_password: password, rules: writeRules(rules), expires_at_ms: expiresAtMs }
    return agentOf(await this.#post('/agents/rules', change))
  }

  /** Returns the agent and its new token, which the daemon does not show again. */
  async rotate(id: string, password: string) {
    return withToken(await this.#post('/agents/rotate', { agent: id, wallet_password: password }))
  }

  #post(path: string, body: object): Promise<Fields.JsonObject> {
    return this.#api.send({ method: 'POST', path: `${prefix}${path}`, body })
  }
}

function agentOf(response: Fields.JsonObject): Agent {
  return toAgent(Fields.object(response, 'agent'))
}

function withToken(response: Fields.JsonObject): { agent: Agent; token: string } {
  return { agent: agentOf(response), token: Fields.string(response, 'token') }
}
