/** A client for agents: uses the agent's own token and signs within its rules. */
import { Address, Bytes } from '@latchkey/algorand'
import { type Approval, readApproval } from './Approvals.js'
import { type AuditRecord, readRecord } from './Audit.js'
import type { Agent, AgentDecision, AgentLimitUse } from './agentTypes.js'
import { readAgent, readBudget, readDecision } from './agentWire.js'
import type { CallOptions, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { PublicKey } from './Wallet.js'

/** Options of `agent.sign`. */
export type AgentSignOptions = CallOptions & {
  /**
   * The key to sign with, if the sender was rekeyed to it.
   *
   * @default the sender's key
   */
  publicKey?: PublicKey | undefined
  /** The URL of the resource being paid for. Shown to the owner as the agent's unverified claim. */
  url?: string | undefined
  /** A description of the resource being paid for. Shown to the owner as the agent's unverified claim. */
  description?: string | undefined
  /**
   * How long to wait for the owner if the payment needs an approval, in milliseconds. The approval expires with the
   * transaction.
   *
   * @default 0: throws `agent_approval_required`
   */
  approvalWaitMs?: number | undefined
  /** Called with the approval id before waiting for the owner. */
  onApproval?: ((approvalId: string) => void) | undefined
}

/** Options of `agent.signUpto`: the terms of the authorization, which the daemon builds the program from. */
export type AgentUptoOptions = AgentSignOptions & {
  /** The account that pays. */
  payer: string
  payTo: string
  assetId: bigint
  /** The highest amount that can be charged, in base units. */
  maxAmount: bigint
  /** The account that pays the fees and submits the transfer. */
  facilitator: string
  /** The last valid round of the transfer. */
  lastValid: bigint
  /** 32 bytes. */
  genesisHash: Uint8Array
  /** 16 random bytes. With the same ones again, the authorization does not count twice. */
  nonce: Uint8Array
}

/** A signed authorization for a price by usage. */
export type AgentAuthorization = {
  /** `upto-` and the lease in base32. */
  authorizationId: string
  program: Uint8Array
  signature: Uint8Array
}

/** Options of `agent.history`. */
export type AgentHistoryOptions = CallOptions & {
  /** Returns records below this number. @default from the newest */
  beforeNumber?: number | undefined
  /** The maximum number of records, up to 1000. @default 100 */
  count?: number | undefined
}

/** Records of an agent, newest first. */
export type AgentHistory = {
  records: AuditRecord[]
  /** The next `beforeNumber`; undefined on the last page. */
  continueFrom: number | undefined
}

/** Options of `agent.waitForApproval`. */
export type WaitForApprovalOptions = CallOptions & {
  id: string
  /** How long to wait, in milliseconds. @default 25_000 */
  waitMs?: number | undefined
}

/**
 * A client for an agent, created by `Kmd.asAgent`. Every method throws {@link KmdClientError}. If a signature was
 * refused, the error has a `refusal` with the rule, the amount requested, the amount left, and when more is available.
 *
 * @example
 * const agent = await Kmd.asAgent({ address: '127.0.0.1:7833', token })
 * const { budget } = await agent.self()
 * const signed = await agent.sign(transaction, { url: 'https://shop.example/report' })
 */
export class AgentClient {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The address where the daemon was last reached. */
  get address(): string {
    return this.#connection.address
  }

  /** Describes the agent and the remaining budget of each limit. */
  async self(options: CallOptions = {}): Promise<{ agent: Agent; budget: AgentLimitUse[] }> {
    const response = await this.#connection.call('GetOwnAgent', options)
    return { agent: readAgent('GetOwnAgent', response.agent), budget: readBudget(response.budget) }
  }

  /**
   * Signs a transaction (msgpack) within the agent's rules and returns the signed transaction (msgpack).
   *
   * @throws KmdClientError `agent_limit_exceeded`, `agent_approval_required` and others, with `refusal`
   */
  async sign(transaction: Uint8Array, options: AgentSignOptions = {}): Promise<Uint8Array> {
    const { approvalWaitMs, onApproval, publicKey, url, description, ...callOptions } = options
    const members = {
      transaction: Bytes.toBase64(transaction),
      public_key: publicKey === undefined ? undefined : toPublicKey(publicKey),
      claimed_url: url,
      claimed_description: description,
    }
    return this.#approved(options, async () => {
      const response = await this.#connection.call('SignAsAgent', { ...callOptions, members })
      return response.signedTransaction
    })
  }

  /**
   * Signs an authorization for a price by usage (the x402 scheme `upto`) within the agent's rules. The maximum counts
   * until the charge is on the ledger, and then the charge.
   *
   * @throws KmdClientError `agent_limit_exceeded`, `agent_approval_required` and others, with `refusal`
   */
  async signUpto(options: AgentUptoOptions): Promise<AgentAuthorization> {
    const { payer, payTo, assetId, maxAmount, facilitator, lastValid, genesisHash, nonce, ...signOptions } = options
    const { approvalWaitMs, onApproval, publicKey, url, description, ...callOptions } = signOptions
    const members = {
      payer,
      pay_to: payTo,
      asset_id: assetId.toString(),
      max_amount: maxAmount.toString(),
      facilitator,
      last_valid: lastValid.toString(),
      network: Bytes.toBase64(genesisHash),
      nonce: Bytes.toBase64(nonce),
      public_key: publicKey === undefined ? undefined : toPublicKey(publicKey),
      claimed_url: url,
      claimed_description: description,
    }
    return this.#approved(options, () => this.#connection.call('SignUptoAsAgent', { ...callOptions, members }))
  }

  /** Signs, and if the owner must approve, waits and signs again. */
  async #approved<T>(
    { approvalWaitMs = 0, onApproval, signal, timeoutMs }: AgentSignOptions,
    sign: () => Promise<T>,
  ): Promise<T> {
    const giveUpAt = performance.now() + approvalWaitMs
    for (let mayWait = true; ; ) {
      try {
        return await sign()
      } catch (error) {
        const id = error instanceof KmdClientError ? error.approvalId : undefined
        const waitMs = giveUpAt - performance.now()
        if (!mayWait || id === undefined || waitMs <= 0) throw error
        onApproval?.(id)
        const { state } = await this.waitForApproval({ id, waitMs, signal, timeoutMs })
        if (state === 'open') throw error
        // If the approval was denied or expired, the next attempt throws the daemon's error. If it was approved, the
        // next attempt signs, unless another rule asks by then.
        mayWait = state === 'approved'
      }
    }
  }

  /** Waits until the owner has decided or the time is up, and returns the current approval. */
  async waitForApproval({ id, waitMs = 25_000, ...options }: WaitForApprovalOptions): Promise<Approval> {
    const giveUpAt = performance.now() + waitMs
    for (;;) {
      const leftMs = Math.max(0, giveUpAt - performance.now())
      const waitSeconds = Math.min(longestPollSeconds, Math.ceil(leftMs / 1000))
      const members = { approval_id: id, wait_seconds: waitSeconds }
      const timeoutMs = (options.timeoutMs ?? pollTimeoutMs) + waitSeconds * 1000
      const response = await this.#connection.call('WaitForApproval', { ...options, timeoutMs, members })
      const approval = readApproval(response.approval)
      if (approval.state !== 'open' || performance.now() >= giveUpAt) return approval
    }
  }

  /** Returns the rule that would decide about a transaction (msgpack), without signing or counting it. */
  async test(transaction: Uint8Array, options: CallOptions = {}): Promise<AgentDecision> {
    const members = { transaction: Bytes.toBase64(transaction) }
    return readDecision('TestOwnAgent', await this.#connection.call('TestOwnAgent', { ...options, members }))
  }

  /** Lists the agent's audit records, newest first. */
  async history({ beforeNumber, count, ...options }: AgentHistoryOptions = {}): Promise<AgentHistory> {
    const members = { before_number: beforeNumber, count }
    const response = await this.#connection.call('ListOwnRecords', { ...options, members })
    return {
      records: response.records.map(readRecord),
      continueFrom: response.continueFrom || undefined,
    }
  }

  /** Closes idle connections. Without this call, they time out. */
  close(): void {
    this.#connection.close()
  }
}

const longestPollSeconds = 25
const pollTimeoutMs = 10_000

function toPublicKey(key: PublicKey): string {
  if (typeof key === 'string' && Address.isValid(key)) return Bytes.toBase64(Address.decode(key))
  if (key instanceof Uint8Array && key.length === 32) return Bytes.toBase64(key)
  const message = 'a public key must be 32 bytes, or a valid address'
  throw new KmdClientError('invalid_argument', message, { operation: 'SignAsAgent' })
}
