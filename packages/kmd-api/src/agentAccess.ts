/**
 * The rules for agents' tokens that several operations share. An operation that allows agents checks the wallet, keys
 * and addresses of the request itself.
 */
import type { AgentAccess } from './Description.js'

/** A rule of one kind. */
export type Use<U extends AgentAccess['use']> = { readonly use: U; readonly why: string }

/** An agent may use the operation. */
export const allowed = (why: string): Use<'allowed'> => ({ use: 'allowed', why })
/** Only an agent may use the operation. */
export const agentsOnly = (why: string): Use<'required'> => ({ use: 'required', why })
/** An agent may not use the operation. */
export const refused = (why: string): Use<'refused'> => ({ use: 'refused', why })

export const noSecrets = refused('an agent cannot export keys')
export const noChanges = refused('an agent cannot change a wallet')
export const onlyTransactions = refused(
  'rules apply only to transactions with one signature; other signatures cannot be counted',
)
export const ownersAlone = refused('it is only for the owner, who sets the limits of agents')
export const consoles = refused('it is only for the console')
export const ownKeys = allowed('for its own keys only')
export const publicData = allowed('it is public on the network, and needed to make a payment')
export const itself = agentsOnly('it is about the agent itself')
export const withinRules = agentsOnly('within its rules')
