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
    { name: 'transaction_id', shape: text, about: 'The id of an authorization for a price by usage begins with upto-' },
    {
      name: 'transaction',
      shape: { type: 'base64' },
      about: 'For an authorization for a price by usage, the transfer of its maximum',
    },
    {
      name: 'summary',
      shape: text,
      blank: true,
      about:
        'One sentence that leads with the money, such as: shopper wants to pay $0.01 to ADDRESS for URL (not checked). The address is whole',
    },
    { name: 'description', shape: { type: 'list', of: text }, about: 'Description of the transaction in plain text' },
    { name: 'warnings', shape: { type: 'list', of: text } },
    { name: 'reason', shape: text, blank: true, about: 'Why the owner is asked, one sentence per rule' },
    {
      name: 'rules',
      shape: { type: 'list', of: text },
      about: 'Every rule that requires the approval. The approval lifts only these rules',
    },
    { name: 'rule', shape: text, blank: true, about: 'The first of the rules' },
    { name: 'unit', shape: text, blank: true, about: 'The unit of asked and left' },
    { name: 'asked', shape: text, blank: true, about: 'In the smallest unit; blank if the rule has no amount' },
    { name: 'left', shape: text, blank: true, about: 'Remainder of the limit when the agent asked' },
    { name: 'claimed_url', shape: text, blank: true, about: 'URL that the caller claims to pay for; unverified' },
    { name: 'claimed_description', shape: text, blank: true, about: 'Description by the caller; unverified' },
    { name: 'created_at_ms', shape: time },
    { name: 'expires_at_ms', shape: time },
    { name: 'decided_at_ms', shape: time, about: '0 if undecided' },
  ],
} as const satisfies Shape
