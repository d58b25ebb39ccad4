/** Builds the audit records of agents. */
import { Transaction, UptoProgram, VisibleText } from '@latchkey/algorand'
import {
  type Dollars,
  formatAmount,
  formatLimit,
  formatQuantity,
  type NetworkItem,
  type Rules,
} from '@latchkey/kmd-api/rules'
import type { Actor, AuditEvent } from '../audit/AuditChain.js'
import type { Agent, AgentRefusal } from './Agent.js'
import type { Claim, LimitUse } from './AgentsApi.js'
import { type Facts, isRefusal } from './Decision.js'
import type { Charge, OpenReservation } from './Reservations.js'

export const maxClaimedUrl = 2_048
export const maxClaimedDescription = 500

/** A transaction that was signed or refused. */
export type Signature = {
  readonly agent: Agent
  readonly facts: Facts | AgentRefusal
  readonly sender: string
  /** The address of the signing key. */
  readonly signer: string
  readonly transactionId: string
  readonly claim: Claim
  /** The number of records omitted before this one during a flood. */
  readonly leftOut: number
}

export function signed(signature: Signature, rule: string): AuditEvent {
  return { ...common(signature), event: eventOf(signature), detail: { ...details(signature), rule } }
}

export function repeated(signature: Signature): AuditEvent {
  return signed(signature, 'signed before')
}

function eventOf({ facts }: Signature): AuditEvent['event'] {
  return !isRefusal(facts) && facts.isUpTo ? 'authorization_signed' : 'transaction_signed'
}

export function refused(signature: Signature, { code, rule, message }: AgentRefusal): AuditEvent {
  return { ...common(signature), event: 'signature_refused', detail: { ...details(signature), code, rule, message } }
}

/** Refusals that have no record of their own. */
export function leftOut(agent: Agent, count: number): AuditEvent {
  return { event: 'signature_refused', actor: actorOf(agent), wallet: agent.walletId, detail: { left_out: `${count}` } }
}

/** A reservation that was returned. */
export function returned(agent: Agent, reservation: OpenReservation): AuditEvent {
  const { transactionId, lastValid, microAlgos, assetId, assetAmount, uptoPayer } = reservation
  const asset = assetId === 0n ? {} : { asset: `${assetId}`, amount: `${assetAmount}` }
  const detail = { agent_id: agent.id, last_valid: `${lastValid}`, micro_algos: `${microAlgos}`, ...asset }
  const transaction = uptoPayer === undefined ? Transaction.encodeId(transactionId) : UptoProgram.idOf(transactionId)
  return { event: 'reservation_returned', actor: { type: 'daemon' }, wallet: agent.walletId, transaction, detail }
}

/** An authorization for a price by usage that was charged. The rest of its maximum was returned. */
export function settled(agent: Agent, reservation: OpenReservation, { amount, round }: Charge): AuditEvent {
  const { transactionId, network, payee, assetId, assetAmount: maximum } = reservation
  const { dollars } = agent.rules
  const text = (units: bigint): string => formatAmount({ network, assetId, amount: units }, dollars)
  const amounts = { maximum: `${maximum}`, amount: `${amount}`, returned: `${maximum - amount}` }
  const detail = {
    agent_id: agent.id,
    network,
    asset: `${assetId}`,
    ...amounts,
    payee: payee!,
    round: `${round}`,
    text: `${text(amount)} of up to ${text(maximum)}`,
  }
  const transaction = UptoProgram.idOf(transactionId)
  return { event: 'authorization_settled', actor: { type: 'daemon' }, wallet: agent.walletId, transaction, detail }
}

/** The owner lets a suspended agent sign again, with the spending counted so far. */
export function confirmed(agent: Agent, uses: readonly LimitUse[], actor: Actor): AuditEvent {
  const { dollars } = agent.rules
  const used = uses
    .filter(({ limit }) => limit.per !== 'payment')
    .map(({ limit, used: spent }) => `${formatQuantity(limit, spent, dollars)} of ${formatLimit(limit, dollars)}`)
  const event = changed('agent_confirmed', agent, actor)
  return { ...event, detail: { ...event.detail, used } }
}

export function suspended(agent: Agent, reason: string): AuditEvent {
  const event = changed('agent_suspended', agent, { type: 'daemon' })
  return { ...event, detail: { ...event.detail, reason } }
}

export function changed(event: AuditEvent['event'], agent: Agent, actor: Actor): AuditEvent {
  const detail = { agent_id: agent.id, agent_name: agent.name, state: agent.state, ...grantOf(agent) }
  return { event, actor, wallet: agent.walletId, detail }
}

/** Everything that the owner granted. An absent list is empty, or allows everything (`pay_to`). */
function grantOf({ addresses, rules, expiresAtMs }: Agent): { [member: string]: string | readonly string[] } {
  const { payees, networks, dollars } = rules
  // With one network, the network is unambiguous.
  const on = (network: string): string => (networks.length === 1 ? '' : ` on ${network}`)
  const items = (name: string, list: readonly NetworkItem[]): { [member: string]: readonly string[] } =>
    list.length === 0 ? {} : { [name]: list.map(({ network, id }) => `${id}${on(network)}`) }
  return {
    addresses,
    networks,
    limits: rules.limits.map((limit) => `${formatLimit(limit, dollars)}${on(limit.network)}`),
    ...(payees.allow === 'all' ? {} : { pay_to: payees.allow }),
    ...(payees.deny.length === 0 ? {} : { denied: payees.deny }),
    ...items('applications', rules.applications),
    ...items('opt_ins', rules.optIns),
    ...items('dollars', dollars),
    max_fee: `${rules.maxFeeMicroAlgos}`,
    max_valid_rounds: `${rules.maxValidRounds}`,
    ask: askOf(rules, on),
    ...(expiresAtMs === undefined ? {} : { expires_at_ms: `${expiresAtMs}` }),
  }
}

/** The cases that need the owner's approval. */
function askOf({ ask, dollars }: Rules, on: (network: string) => string): string[] {
  return [
    ...ask.above.map((one) => `above ${formatAmount(one, dollars)}${on(one.network)}`),
    ...(ask.overLimit ? ['over-limit'] : []),
    ...(ask.unknownPayee ? ['unknown-payee'] : []),
    ...(ask.otherTypes ? ['other-types'] : []),
  ]
}

export function actorOf({ id, name }: Agent): Actor {
  return { type: 'agent', id, name }
}

function common({ agent, signer, transactionId }: Signature): Omit<AuditEvent, 'event'> {
  return { actor: actorOf(agent), wallet: agent.walletId, address: signer, transaction: transactionId }
}

function details({ agent, facts, sender, signer, claim, leftOut: count }: Signature): { [member: string]: string } {
  const detail: { [member: string]: string } = isRefusal(facts) ? {} : paymentDetails(facts, agent.rules.dollars)
  if (sender !== signer) detail['sender'] = sender
  const [url, description] = [bounded(claim.url, maxClaimedUrl), bounded(claim.description, maxClaimedDescription)]
  if (url !== undefined) detail['claimed_url'] = url
  if (description !== undefined) detail['claimed_description'] = description
  if (count > 0) detail['left_out'] = `${count}`
  return detail
}

function paymentDetails(facts: Facts, dollars: Dollars): { [member: string]: string } {
  const { kind, network, payee, assetId, amount, applicationId, feeMicroAlgos, firstValid, lastValid, isUpTo } = facts
  const detail: { [member: string]: string } = {
    kind,
    network,
    fee: `${feeMicroAlgos}`,
    first_valid: `${firstValid}`,
    last_valid: `${lastValid}`,
  }
  if (kind === 'application') detail['application'] = `${applicationId}`
  else {
    detail['asset'] = `${assetId}`
    detail['amount'] = `${amount}`
    detail['payee'] = payee!
    detail['text'] = `${isUpTo ? 'up to ' : ''}${formatAmount({ network, assetId, amount }, dollars)}`
    if (isUpTo) detail['scheme'] = 'upto'
  }
  return detail
}

/** Untrusted text of the caller, with hidden characters replaced and a bounded length. */
export function bounded(text: string | undefined, most: number): string | undefined {
  if (text === undefined || text === '') return undefined
  return VisibleText.replaceHidden(text.slice(0, most))
}
