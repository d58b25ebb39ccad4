/** Approvals as members of responses. */
import type { Shape } from '../Schema.js'

const text = { type: 'string' } as const

const time = { type: 'uint', format: 'int64' } as const

const state = { type: 'string', oneOf: ['open', 'approved', 'denied', 'expired', 'used'] } as const

/** An approval in the API. Amounts are decimal text in the smallest unit, blank if the rule has none. */
export const approvalShape = {
  type: 'object',
  name: 'Approval',
  members: [
    { name: 'id', shape: text },
    { name: 'agent_id', shape: text },
    { name: 'agent_name', shape: text, blank: true },
    { name: 'state', shape: state, about: 'open, approved, denied, expired or used' },
    { name: 'transaction_id', shape: text },
    { name: 'transaction', shape: { type: 'base64' } },
    { name: 'description', shape: { type: 'list', of: text }, about: 'What the transaction does, in words' },
    { name: 'warnings', shape: { type: 'list', of: text } },
    { name: 'reason', shape: text, blank: true, about: 'Why the owner is asked: a sentence for each rule' },
    {
      name: 'rules',
      shape: { type: 'list', of: text },
      about: 'Every rule that asks. The approval lifts these, and no other',
    },
    { name: 'rule', shape: text, blank: true, about: 'The first of the rules' },
    { name: 'unit', shape: text, blank: true, about: 'The unit of asked and left' },
    { name: 'asked', shape: text, blank: true, about: 'In the smallest unit; blank where the rule has no amount' },
    { name: 'left', shape: text, blank: true, about: 'What was left of the limit when the agent asked' },
    { name: 'claimed_url', shape: text, blank: true, about: 'What the caller says it pays for. Not checked' },
    { name: 'claimed_description', shape: text, blank: true, about: 'What the caller says. Not checked' },
    { name: 'created_at_ms', shape: time },
    { name: 'expires_at_ms', shape: time },
    { name: 'decided_at_ms', shape: time, about: '0 if it is not decided' },
  ],
} as const satisfies Shape
