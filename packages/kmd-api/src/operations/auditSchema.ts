/** Records of the audit log as members of responses, and the bounds of a search. */

const text = { type: 'string' } as const

const count = { type: 'uint', format: 'int64' } as const

/** An audit record as a member of a response. */
export const auditRecord = {
  type: 'object',
  name: 'AuditRecord',
  members: [
    { name: 'number', shape: count },
    { name: 'at_ms', shape: count, about: 'Milliseconds since 1970; never less than in the previous record' },
    { name: 'event', shape: text, about: 'Event of the record' },
    {
      name: 'wallet_name',
      shape: { type: 'text' },
      blank: true,
      about: "The wallet's current name; blank if the wallet was deleted",
    },
    {
      name: 'record',
      shape: text,
      about:
        'JSON as it was hashed: event, actor, and where they apply agent, wallet, address, transaction (ids) and detail. Members whose names begin with claimed contain unverified text from others',
    },
    { name: 'previous', shape: text, about: 'The hash of the previous record, in hexadecimal' },
    { name: 'hash', shape: text, about: 'In hexadecimal' },
  ],
} as const

/** Bounds of a search of the audit log. */
export const auditBounds = { mostRecords: 1_000, defaultRecords: 100, mostTextBytes: 256 } as const
