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

export const noSecrets = refused('keys do not leave the daemon for an agent')
export const noChanges = refused('an agent changes nothing in a wallet')
export const onlyTransactions = refused(
  'the rules are about transactions with one signature; nothing else can be counted',
)
export const ownersAlone = refused('this is for the owner, who sets the limits of agents')
export const consoles = refused('this is for the console')
export const ownKeys = allowed('for its own keys only')
export const publicData = allowed('this is public on the network, and needed to make a payment')
export const itself = agentsOnly('it is about the agent itself')
export const withinRules = agentsOnly('within its rules')
