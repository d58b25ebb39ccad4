/** Database rows of approvals. */
import type { Approval, ApprovalState, StoredRefusal } from './Approval.js'

/** The approvals' part of the schema. */
export const approvalSchema = `
  CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'expired', 'used')),
    transaction_id TEXT NOT NULL,
    content BLOB NOT NULL,
    refusal TEXT NOT NULL,
    claimed_url TEXT NOT NULL,
    claimed_description TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    UNIQUE (agent_id, transaction_id)
  ) STRICT;
  CREATE INDEX approvals_created ON approvals (created_ms);
  CREATE INDEX approvals_expiry ON approvals (expires_ms) WHERE state <> 'expired';
`

/** Version 2: until when the ledger could accept the transaction, so that a denial holds as long. */
export const approvalValiditySchema = `
  ALTER TABLE approvals ADD COLUMN network TEXT;
  ALTER TABLE approvals ADD COLUMN last_valid INTEGER;
  CREATE INDEX approvals_denied ON approvals (agent_id) WHERE state = 'denied';
`

export type ApprovalRow = {
  id: string
  agent_id: string
  agent_name: string
  state: string
  transaction_id: string
  content: Uint8Array
  refusal: string
  claimed_url: string
  claimed_description: string
  created_ms: number
  expires_ms: number
  decided_ms: number | null
}

export function approvalOf(row: ApprovalRow): Approval {
  return {
    id: row.id,
    agentId: row.agent_id,
    agentName: row.agent_name,
    state: row.state as ApprovalState,
    transactionId: row.transaction_id,
    transaction: row.content,
    refusals: readRefusals(row.refusal),
    claimedUrl: row.claimed_url,
    claimedDescription: row.claimed_description,
    createdAtMs: row.created_ms,
    expiresAtMs: row.expires_ms,
    decidedAtMs: row.decided_ms ?? undefined,
  }
}

/** Version 1 of the schema had one rule. */
function readRefusals(text: string): readonly StoredRefusal[] {
  const json = JSON.parse(text) as StoredRefusal | StoredRefusal[]
  return Array.isArray(json) ? json : [json]
}
