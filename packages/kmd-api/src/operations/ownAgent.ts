/** Operations for agents beyond the reference wire. */
import { define, extraPrefix, itself, withinRules } from '../Description.js'
import { ascii, bytes, publicKey, text, uint } from '../members.js'
import { agentMember, budgetMember, decisionMembers } from './agentSchema.js'
import { auditRecord } from './auditSchema.js'

const transaction = { name: 'transaction', kind: bytes, about: 'The msgpack of one transaction' } as const

const signingKey = {
  name: 'public_key',
  kind: publicKey,
  about: "The key to sign with, if it is not the sender's",
} as const

const claims = [
  { name: 'claimed_url', kind: text, about: "URL of what is paid for; shown to the owner as the agent's claim" },
  {
    name: 'claimed_description',
    kind: text,
    about: "Description of what is paid for; shown to the owner as the agent's claim",
  },
] as const

/** An agent's operations on itself. */
export const ownAgentOperations = {
  GetOwnAgent: define({
    method: 'GET',
    path: `${extraPrefix}/agent`,
    about: 'Describes the agent whose token is used, with the remainder of each limit.',
    request: [],
    response: [agentMember, budgetMember],
    responseName: 'GetOwnAgentResponse',
    errors: ['agent_token_required'],
    access: { console: 'allowed', agent: itself },
    audit: 'none',
  }),
  SignAsAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agent/sign`,
    about: 'Signs a transaction within the rules of the agent. No handle is needed.',
    request: [transaction, signingKey, ...claims],
    response: [{ name: 'signed_transaction', shape: { type: 'base64' } }],
    responseName: 'SignAsAgentResponse',
    errors: ['agent_token_required', 'agent_wallet_forbidden', 'state_not_written'],
    access: { console: 'allowed', agent: withinRules },
    audit: 'own',
  }),
  SignUptoAsAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agent/upto`,
    about:
      'Signs an authorization for a price by usage (the x402 scheme upto) within the rules of the agent. The daemon builds the program from these members and signs no other. The maximum counts like a payment until the charge is seen on the ledger; then the charge counts.',
    request: [
      { name: 'payer', kind: ascii, about: 'Address of the account that pays' },
      { name: 'pay_to', kind: ascii, about: 'Address that is paid' },
      { name: 'asset_id', kind: ascii, about: 'As decimal text' },
      { name: 'max_amount', kind: ascii, about: 'The highest amount, in the smallest unit, as decimal text' },
      { name: 'facilitator', kind: ascii, about: 'Address of the account that pays the fees and submits the transfer' },
      { name: 'last_valid', kind: ascii, about: 'Last valid round of the transfer, as decimal text' },
      { name: 'network', kind: ascii, about: 'The genesis hash, in base64' },
      { name: 'nonce', kind: bytes, about: '16 random bytes; the same ones again are the same authorization' },
      signingKey,
      ...claims,
    ],
    response: [
      { name: 'authorization_id', shape: { type: 'string' }, about: 'upto- and the lease in base32' },
      { name: 'program', shape: { type: 'base64' } },
      { name: 'signature', shape: { type: 'base64' }, about: 'The Ed25519 signature of Program and the program' },
    ],
    responseName: 'SignUptoAsAgentResponse',
    errors: ['agent_token_required', 'agent_wallet_forbidden', 'bad_authorization', 'state_not_written'],
    access: { console: 'allowed', agent: withinRules },
    audit: 'own',
  }),
  TestOwnAgent: define({
    method: 'POST',
    path: `${extraPrefix}/agent/test`,
    about: 'Returns the rule that would decide about a transaction, without signing or counting it.',
    request: [transaction],
    response: decisionMembers,
    responseName: 'TestOwnAgentResponse',
    errors: ['agent_token_required'],
    access: { console: 'allowed', agent: itself },
    audit: 'none',
  }),
  ListOwnRecords: define({
    method: 'POST',
    path: `${extraPrefix}/agent/history`,
    about: 'Lists the records of the audit log about the agent, newest first: its signatures, refusals and changes.',
    request: [
      { name: 'before_number', kind: uint, about: 'Below this number; 0 or absent for the newest' },
      { name: 'count', kind: uint, about: 'At most 1000; absent for 100' },
    ],
    response: [
      { name: 'records', shape: { type: 'list', of: auditRecord } },
      {
        name: 'continue_from',
        shape: { type: 'uint', format: 'int64' },
        about: 'The next before_number; 0 if there are no more records',
      },
    ],
    responseName: 'ListOwnRecordsResponse',
    errors: ['agent_token_required', 'bad_audit_query'],
    access: { console: 'allowed', agent: itself },
    audit: 'none',
  }),
}
