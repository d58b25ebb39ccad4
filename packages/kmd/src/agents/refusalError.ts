/** Converts a refusal to an API error with the machine-readable refusal in a header. */
import { type Code, KmdError } from '../errors.js'
import type { AgentRefusal } from './Agent.js'

/** The header with the refusal as JSON, in ASCII. */
export const refusalHeader = 'Latchkey-Refusal'
/** The header with the id of the approval that the transaction is waiting for. */
export const approvalHeader = 'Latchkey-Approval'

/** Amounts in the smallest unit, as decimal text; `resetsAt` in ISO 8601. */
export type RefusalJson = {
  readonly code: string
  readonly rule: string
  readonly unit: string | null
  readonly asked: string | null
  readonly left: string | null
  readonly resetsAt: string | null
}

export function refusalJson({ code, rule, unit, asked, left, resetsAtMs }: AgentRefusal): RefusalJson {
  return {
    code,
    rule,
    unit: unit ?? null,
    asked: asked?.toString() ?? null,
    left: left?.toString() ?? null,
    resetsAt: resetsAtMs === undefined ? null : new Date(resetsAtMs).toISOString(),
  }
}

/** The error for a refusal. `code` differs from the refusal's if an approval decides. */
export function refusalError(
  refusal: AgentRefusal,
  { code = refusal.code, approvalId }: RefusalErrorOptions = {},
): KmdError {
  const approval = approvalId === undefined ? [] : [approvalHeader, approvalId]
  const headers = [refusalHeader, JSON.stringify(refusalJson(refusal)), ...approval]
  return new KmdError(code, { message: refusal.message, headers })
}

export type RefusalErrorOptions = { code?: Code; approvalId?: string | undefined }
