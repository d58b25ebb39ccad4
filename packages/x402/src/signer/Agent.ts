import type { AgentClient } from '@latchkey/kmd-client'
import { OptionsError } from '../errors.js'
import { checkSender, type Signer, SignerError } from './Signer.js'

/** Options of {@link fromAgent}. */
export type AgentSignerOptions = {
  /** The agent's connection to the daemon: `await Kmd.asAgent({ dataDir, token })` of `@latchkey/kmd-client`. */
  agent: AgentClient
  /**
   * The address of the key that signs. Must be one of the agent's keys.
   *
   * @default the agent's only key
   */
  address?: string | undefined
  /**
   * The account that pays, if it is rekeyed to `address`.
   *
   * @default address
   */
  sender?: string | undefined
  /**
   * How long to wait for the owner's approval of a payment that needs one, in milliseconds. An approval always expires
   * with the validity of the transaction.
   *
   * @default 0: signing throws `agent_approval_required`
   */
  approvalWaitMs?: number | undefined
  /** Called with the id of an approval before waiting for it. */
  onApproval?: ((approvalId: string) => void) | undefined
}

/**
 * Creates a signer from an agent's token. The daemon signs within the limits that the owner gave the agent. The owner
 * sees the URL and the description of a payment as unconfirmed claims. Signing throws a KmdClientError with `refusal`
 * if the daemon refuses.
 *
 * @throws KmdClientError if the daemon does not answer, or does not accept the token
 * @throws SignerError if the agent has no such key, or several and none is named
 * @example
 * const agent = await Kmd.asAgent({ dataDir, token })
 * const signer = await fromAgent({ agent, approvalWaitMs: 60_000 })
 * const buyer = new Buyer({ signer, chains: chain })
 */
export async function fromAgent(options: AgentSignerOptions): Promise<Signer> {
  const { agent, sender, approvalWaitMs, onApproval } = options
  if (agent === undefined) throw new OptionsError('agent is not set', 'Pass the agent that `Kmd.asAgent` returned.')
  const address = await addressOf(agent, options.address)
  checkSender({ address, sender })
  return {
    address,
    sender,
    sign: (transaction, { url, description, signal } = {}) => {
      const publicKey = sender === undefined ? undefined : address
      return agent.sign(transaction, { url, description, signal, publicKey, approvalWaitMs, onApproval })
    },
    // The daemon builds the program from the terms, and reserves the maximum before it signs.
    signUpto: async ({ terms, nonce }, { url, description, signal } = {}) => {
      const publicKey = sender === undefined ? undefined : address
      const waiting = { url, description, signal, publicKey, approvalWaitMs, onApproval }
      return (await agent.signUpto({ ...terms, nonce, ...waiting })).signature
    },
    check: async () => void (await addressOf(agent, address)),
  }
}

async function addressOf(agent: AgentClient, address: string | undefined): Promise<string> {
  const { agent: grant } = await agent.self()
  const { name, addresses } = grant
  const [only, another] = addresses
  if (address === undefined && another !== undefined) {
    throw new SignerError(
      'signer_key_missing',
      `the agent ${JSON.stringify(name)} has several keys, and no address was passed`,
    )
  }
  const chosen = address ?? only
  if (chosen !== undefined && addresses.includes(chosen)) return chosen
  throw new SignerError('signer_key_missing', `the agent ${JSON.stringify(name)} has no key ${chosen ?? ''}`.trimEnd())
}
