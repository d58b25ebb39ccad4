/** The implementation of an operation that `@latchkey/kmd-api` describes. */
import type { Descriptions, FieldsOf, MembersOf, OperationId, Recording } from '@latchkey/kmd-api'
import type { Subject } from '../audit/AuditChain.js'
import type { AgentCaller, Context, OwnerCaller } from './Context.js'

/** The members of an operation's request. */
export type InputOf<Id extends OperationId> = FieldsOf<Descriptions[Id]['request'], Buffer>

/** The members of an operation's response. */
export type OutputOf<Id extends OperationId> = MembersOf<Descriptions[Id]['response']>

type Run<Id extends OperationId, C> = (
  context: Context,
  input: InputOf<Id>,
  caller: C,
) => OutputOf<Id> | Promise<OutputOf<Id>>

/** Builds the audit record of an operation. */
export type AuditFunctions<Input, Output> = {
  /** Describes the subject of the operation; runs before it. */
  readonly subject: (context: Context, input: Input) => Subject | Promise<Subject>
  /** Describes the result of the operation. */
  readonly result?: (input: Input, output: Output) => Subject
  /** Undoes an effect that must not be returned without a record. */
  readonly undo?: (context: Context, output: Output) => void
}

type AgentUse<Id extends OperationId> = Descriptions[Id]['access']['agent']['use']

/**
 * `run` is for the owner and the console, `runAsAgent` for agents. The description decides which of them, and which
 * audit functions, an operation must have.
 */
export type Implementation<Id extends OperationId> = {
  /**
   * Whether `run` returns the same object for the same output. The object is then serialized once and must not be
   * changed.
   */
  readonly reusesOutput?: true
} & (AgentUse<Id> extends 'required' ? { readonly run?: never } : { readonly run: Run<Id, OwnerCaller> }) &
  (AgentUse<Id> extends 'refused' ? { readonly runAsAgent?: never } : { readonly runAsAgent: Run<Id, AgentCaller> }) &
  (Descriptions[Id]['audit'] extends Recording
    ? { readonly record: AuditFunctions<InputOf<Id>, OutputOf<Id>> }
    : { readonly record?: never })

/** The implementation of every operation. */
export type Implementations = { readonly [Id in OperationId]: Implementation<Id> }
