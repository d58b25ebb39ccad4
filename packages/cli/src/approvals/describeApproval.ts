/**
 * Describes an approval for the owner who decides: the payment in one sentence, then the signed content, and the caller's
 * claims last and marked as claims.
 */
import { Readable } from '@latchkey/algorand'
import { formatUnits } from '@latchkey/kmd-api/rules'
import type { Approval } from '@latchkey/kmd-client'
import { printable, quoted, timeText } from '../format.js'

/** Returns the lines of one approval. Untrusted parts take one line each. */
export function describeApproval(approval: Approval): string {
  const { id, state, description, warnings, reason, claimedUrl, claimedDescription, expiresAtMs } = approval
  const minutes = Math.max(0, Math.ceil((expiresAtMs - Date.now()) / 60_000))
  const lines = [
    leadOf(approval),
    `  ${printable(id)}  ${stateText(approval)}`,
    ...description.map((line) => `  ${printable(line)}`),
    ...warnings.map((line) => `  Warning: ${printable(line)}`),
    `  Reason: ${printable(reason)}`,
    ...leftLine(approval),
    ...(approval.rules.length < 2
      ? []
      : [`  Approving lifts these rules: ${approval.rules.map(printable).join('; ')}.`]),
    ...(claimedUrl === '' ? [] : [`  URL, as claimed by the agent: ${quoted(claimedUrl)} (not checked)`]),
    ...(claimedDescription === '' ? [] : [`  Description by the agent: ${quoted(claimedDescription)} (not checked)`]),
    ...(state === 'open' ? [`  Expires in ${minutes} min.`] : []),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

/** An approval for programs. */
export function approvalJson(approval: Approval): object {
  const { transaction, asked, left, createdAtMs, expiresAtMs, decidedAtMs, ...members } = approval
  return {
    ...members,
    asked: asked?.toString() ?? null,
    left: left?.toString() ?? null,
    transaction: Buffer.from(transaction).toString('base64'),
    createdAt: timeText(createdAtMs),
    expiresAt: timeText(expiresAtMs),
    decidedAt: decidedAtMs === undefined ? null : timeText(decidedAtMs),
  }
}

/** Leads with the money. An older daemon sends no summary. */
function leadOf({ summary, agentName, description }: Approval): string {
  return printable(summary === '' ? `${quoted(agentName)}: ${description[0] ?? ''}` : summary)
}

function stateText({ state, decidedAtMs }: Approval): string {
  if (state === 'open') return 'waiting for you'
  return decidedAtMs === undefined ? state : `${state}, ${Readable.time(decidedAtMs)}`
}

function leftLine({ rule, unit, asked, left }: Approval): string[] {
  if (asked === undefined || left === undefined) return []
  return [
    `  Needs ${printable(formatUnits(asked, unit))}; the rule ${printable(rule)} leaves ${printable(formatUnits(left, unit))}.`,
  ]
}
