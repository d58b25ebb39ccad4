/** The description of an operation: the one place that says what it is called, reads and writes, and who may use it. */
import type { Code } from './apiErrors.js'
import type { EventName } from './auditEvents.js'
import type { Field, Member, Wire } from './Schema.js'

/** An HTTP method of the API. */
export type Method = 'GET' | 'POST' | 'DELETE'

/** Whether an agent's token may be used: not at all, as an alternative to the owner's, or as the only one. */
export type AgentAccess = { readonly use: 'allowed' | 'required' | 'refused'; readonly why: string }

/** The callers that may use an operation, in addition to the owner. */
export type Access = {
  /** A compromised page must not be able to delete or export keys. */
  readonly console: 'allowed' | 'refused'
  readonly agent: AgentAccess
}

/** How an operation is recorded in the audit log. */
export type Recording = {
  readonly event: EventName
  /**
   * `always`: the operation fails if it cannot be recorded. `all`: the operation fails only with the setting `audit:
   * all`; otherwise the record is lost, which is logged, counted and recorded later.
   */
  readonly required: 'always' | 'all'
  /** The owner's own signatures are recorded only with `audit: all`. */
  readonly isSignature?: true
  /** The operation cannot be undone. If the record is required, the log is first checked to be writable. */
  readonly isChange?: true
  /**
   * The operation runs many times a second. If the record is not required, records are batched and written soon
   * afterwards.
   */
  readonly isBulk?: true
}

/** `own`: the operation appends its records itself. `none`: the operation changes nothing and reveals no secret. */
export type Audit = Recording | 'own' | 'none'

/** An operation. Nothing is open by default: `access` and `audit` are required. */
export type Description<
  F extends readonly Field[] = readonly Field[],
  M extends readonly Member[] = readonly Member[],
  C extends Access = Access,
  A extends Audit = Audit,
> = {
  readonly method: Method
  readonly path: string
  readonly about: string
  /** Not idempotent: clients must not repeat a request that may have arrived. */
  readonly once?: true
  /** Served without a token: on the reference wire, or on both. */
  readonly open?: 'reference' | 'always'
  /** The members of the body, in the order used by array bodies. GET operations read no body. */
  readonly request: F
  readonly response: M
  /** The name of the response in /swagger.json. */
  readonly responseName: string
  /** Error codes in addition to those implied by its fields (see `errorsOf`). */
  readonly errors?: readonly Code[]
  /** The status for failures of the wallet and its file, which differs by operation. @default the registry's status */
  readonly walletFailure?: 400 | 401 | 500
  /** The operation waits for an event, and pages send it automatically, so it does not count as use of the console. */
  readonly waits?: true
  readonly access: C
  readonly audit: A
}

/** Checks a description and keeps its types, from which those of requests and responses are inferred. */
export function define<
  const F extends readonly Field[],
  const M extends readonly Member[],
  const C extends Access,
  const A extends Audit,
>(description: Description<F, M, C, A>): Description<F, M, C, A> {
  return description
}

/** Whether an operation needs no token on a wire. */
export function isOpen({ open }: Pick<Description, 'open'>, wire: Wire): boolean {
  return open !== undefined && (open === 'always' || wire === 'reference')
}

/**
 * A rule for agents' tokens, of one kind. An operation that allows agents checks the wallet, keys and addresses of the
 * request itself.
 */
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

/** The prefix of operations that the Go daemon does not have. Its clients never request these paths. */
export const extraPrefix = '/latchkey/v1'

/** The path of the API description, which is the document itself and not an envelope. */
export const descriptionPath = '/swagger.json'

/** The path of the metrics, in the text format of Prometheus. */
export const metricsPath = `${extraPrefix}/metrics`
