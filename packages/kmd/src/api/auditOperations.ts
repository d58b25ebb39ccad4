/** Searches, verifies and anchors the audit log. These operations are for the owner. */
import { Address } from '@latchkey/algorand'
import * as AnchorNote from '../audit/AnchorNote.js'
import { eventNames } from '../audit/AuditRecord.js'
import type { FoundRecord, Query } from '../audit/searchLog.js'
import { KmdError } from '../errors.js'
import type { Wallets } from '../wallet/Wallets.js'
import { extraPrefix } from './latchkeyOperations.js'
import { ascii, define, text as textKind, uint } from './Operation.js'

const text = { type: 'string' } as const
const count = { type: 'uint', format: 'int64' } as const

/** An audit record as a member of a response. */
export const auditRecord = {
  type: 'object',
  name: 'AuditRecord',
  members: [
    { name: 'number', shape: count },
    { name: 'at_ms', shape: count, about: 'Milliseconds since 1970; never less than in the record before' },
    { name: 'event', shape: text, about: 'What happened, as in the record' },
    { name: 'wallet_name', shape: { type: 'text' }, about: 'As the wallet is called now; blank if it is gone' },
    {
      name: 'record',
      shape: text,
      about:
        'JSON as it was hashed: event, actor, and where they apply agent, wallet, address, transaction (ids) and detail. Texts of strangers have names that begin with claimed',
    },
    { name: 'previous', shape: text, about: 'The hash of the record before it, in hexadecimal' },
    { name: 'hash', shape: text, about: 'In hexadecimal' },
  ],
} as const

const anchor = {
  type: 'object',
  name: 'AuditAnchor',
  members: [
    { name: 'number', shape: count, about: 'The record that was anchored' },
    { name: 'hash', shape: text },
    { name: 'transaction_id', shape: text },
    { name: 'address', shape: text, about: 'The account that sent it' },
    { name: 'network', shape: text, about: 'The genesis hash, in base64' },
    { name: 'round', shape: count },
    { name: 'recorded_as', shape: count, about: 'The record that has this' },
  ],
} as const

const mostRecords = 1_000
const defaultRecords = 100
const mostTextBytes = 256

const filters = [
  {
    name: 'events',
    kind: { type: 'list', of: ascii, max: eventNames.length, tooLong: 'bad_audit_query' },
    about: `Any of ${eventNames.join(', ')}; absent for all`,
  },
  { name: 'actor', kind: textKind, about: 'owner, console, agent or daemon; or the name or id of an agent' },
  { name: 'agent_id', kind: ascii, about: 'What this agent did, and what was done to it' },
  { name: 'wallet', kind: ascii, about: 'The id of a wallet, also of one that is gone' },
  { name: 'address', kind: ascii, about: 'The address of a key, or of the account that sends' },
  { name: 'transaction_id', kind: ascii, about: 'The id of a transaction' },
  { name: 'text', kind: textKind, about: `Anywhere in the record, in either case; at most ${mostTextBytes} bytes` },
  { name: 'after_ms', kind: uint, about: 'At this time or later, in milliseconds since 1970' },
  { name: 'before_ms', kind: uint, about: 'Before this time, in milliseconds since 1970; 0 for no bound' },
  { name: 'before_number', kind: uint, about: 'Below this number, newest first; 0 for the newest' },
  { name: 'after_number', kind: uint, about: 'Above this number; with is_oldest_first' },
  { name: 'is_oldest_first', kind: { type: 'bool' }, about: 'From after_number on, instead of newest first' },
  { name: 'count', kind: uint, about: `At most ${mostRecords}; absent for ${defaultRecords}` },
] as const

export const auditOperations = [
  define({
    id: 'SearchAudit',
    method: 'POST',
    path: `${extraPrefix}/audit/search`,
    about:
      'Lists records of the audit log that match every member given. A search that has looked at much ends early: continue_from says where to go on.',
    request: filters,
    response: [
      { name: 'records', shape: { type: 'list', of: auditRecord } },
      { name: 'continue_from', shape: count, about: 'The next before_number or after_number; 0 if there is no more' },
      { name: 'head_number', shape: count, about: 'The number of the last record of the log; 0 for an empty one' },
      { name: 'head_hash', shape: text },
    ],
    responseName: 'SearchAuditResponse',
    errors: ['bad_audit_query'],
    run: async ({ audit, wallets }, input) => {
      const { number, hash } = audit.head()
      const { records, continueFrom = 0 } = await audit.search(readQuery(input))
      return {
        records: await recordOutputs(records, wallets),
        continue_from: continueFrom,
        head_number: number,
        head_hash: hex(hash),
      }
    },
  }),
  define({
    id: 'VerifyAudit',
    method: 'POST',
    path: `${extraPrefix}/audit/verify`,
    about: 'Recomputes the hashes of the whole audit log and finds the first record that is altered, missing or moved.',
    request: [],
    response: [
      { name: 'ok', shape: { type: 'bool' } },
      { name: 'records', shape: count, about: 'How many were found to be right, from the first on' },
      { name: 'head_hash', shape: text, about: 'Of the last of them' },
      {
        name: 'problem_type',
        shape: text,
        about: 'altered, missing, broken_link, truncated, replaced, damage_recorded or unreadable; blank if it is ok',
      },
      { name: 'problem_number', shape: count, about: 'The record where it shows; 0 if it concerns the whole' },
      { name: 'problem', shape: text, about: 'In words; blank if it is ok' },
      { name: 'anchors', shape: { type: 'list', of: anchor }, about: 'Those that the log has' },
    ],
    responseName: 'VerifyAuditResponse',
    run: async ({ audit }) => {
      const { problem, head, anchors } = await audit.verify()
      return {
        ok: problem === undefined,
        records: head.number,
        head_hash: hex(head.hash),
        problem_type: problem?.type ?? '',
        problem_number: problem?.number ?? 0,
        problem: problem?.message ?? '',
        anchors: anchors.map(({ transaction, recordedAs, ...rest }) => ({
          ...{ ...rest, transaction_id: transaction, recorded_as: recordedAs },
        })),
      }
    },
  }),
  define({
    id: 'PrepareAnchor',
    method: 'POST',
    path: `${extraPrefix}/audit/anchor`,
    about: 'Returns the note of a transaction that anchors the log on chain: its last record, by number and hash.',
    request: [],
    response: [
      { name: 'number', shape: count },
      { name: 'hash', shape: text },
      { name: 'note', shape: text, about: 'For the note of a transaction that the owner signs and sends' },
    ],
    responseName: 'PrepareAnchorResponse',
    errors: ['bad_audit_query'],
    run: ({ audit }) => {
      const head = audit.head()
      if (head.number === 0) throw new KmdError('bad_audit_query', { message: 'the audit log has no record yet' })
      return { number: head.number, hash: hex(head.hash), note: AnchorNote.write(head) }
    },
  }),
  define({
    id: 'RecordAnchor',
    method: 'POST',
    path: `${extraPrefix}/audit/anchored`,
    once: true,
    about:
      'Records that a transaction with the note of an anchor is in the ledger. Verifying on chain looks for it there.',
    request: [
      { name: 'note', kind: ascii, about: 'As it was prepared' },
      { name: 'transaction_id', kind: ascii, about: 'Of 52 characters' },
      { name: 'address', kind: ascii, about: 'The account that sent it' },
      { name: 'network', kind: ascii, about: 'The genesis hash, in base64' },
      { name: 'round', kind: uint, about: 'The round that has it' },
    ],
    response: [{ name: 'recorded_as', shape: count, about: 'The number of the record' }],
    responseName: 'RecordAnchorResponse',
    errors: ['bad_audit_query', 'bad_transaction_id', 'bad_address', 'state_not_written'],
    run: async ({ audit }, input, caller) => {
      const head = AnchorNote.read(input.note)
      const hash = head === undefined ? undefined : audit.hashAt(head.number)
      if (head === undefined || hash === undefined || Buffer.compare(hash, head.hash) !== 0) {
        throw new KmdError('bad_audit_query', { message: 'the note is not an anchor of this log' })
      }
      if (!/^[A-Z2-7]{52}$/.test(input.transaction_id)) throw new KmdError('bad_transaction_id')
      if (!Address.isValid(input.address)) throw new KmdError('bad_address')
      if (!/^[A-Za-z0-9+/]{43}=$/.test(input.network)) {
        throw new KmdError('bad_audit_query', { message: 'network is not a genesis hash in base64' })
      }
      const { transaction_id: transaction, address, network, round } = input
      const detail = { number: `${head.number}`, hash: hex(head.hash), network, round: `${round}` }
      const actor = { type: caller.type === 'session' ? 'console' : 'owner' } as const
      const recorded_as = await audit.change(() => {
        audit.append({ event: 'log_anchored', actor, address, transaction, detail })
        return audit.head().number
      })
      return { recorded_as }
    },
  }),
]

type Input = {
  readonly [name in 'agent_id' | 'wallet' | 'address' | 'transaction_id']: string
} & { readonly [name in 'after_ms' | 'before_ms' | 'before_number' | 'after_number' | 'count']: number } & {
  readonly events: readonly string[]
  readonly actor: Buffer
  readonly text: Buffer
  readonly is_oldest_first: boolean
}

function readQuery(input: Input): Query {
  const bad = (message: string): KmdError => new KmdError('bad_audit_query', { message })
  const unknown = input.events.find((event) => !eventNames.some((name) => name === event))
  if (unknown !== undefined) throw bad(`there is no event ${unknown.slice(0, 64)}`)
  if (input.count > mostRecords) throw bad(`count is ${mostRecords} at most`)
  if (input.address !== '' && !Address.isValid(input.address)) throw new KmdError('bad_address')
  const tooLong = [input.actor, input.text].some(({ length }) => length > mostTextBytes)
  if (tooLong) throw bad(`actor and text have ${mostTextBytes} bytes at most`)
  const given = (value: string | Buffer): string | undefined => (value.length === 0 ? undefined : value.toString())
  const positive = (value: number): number | undefined => (value === 0 ? undefined : value)
  return {
    ...{ events: input.events, actor: given(input.actor), agent: given(input.agent_id), text: given(input.text) },
    ...{ wallet: given(input.wallet), address: given(input.address), transaction: given(input.transaction_id) },
    ...{ afterMs: positive(input.after_ms), beforeMs: positive(input.before_ms), count: input.count || defaultRecords },
    ...(input.is_oldest_first ? { afterNumber: input.after_number } : { beforeNumber: positive(input.before_number) }),
  }
}

/** Records as members of a response, with the current names of their wallets. */
export async function recordOutputs(records: readonly FoundRecord[], wallets: Pick<Wallets, 'list'>) {
  const names = new Map<string, Buffer>()
  if (records.some(({ wallet }) => wallet !== undefined)) {
    // The records are useful even without the names.
    for (const { id, name } of await wallets.list().catch(() => [])) names.set(id.toString('utf8'), name)
  }
  return records.map(({ number, atMs, event, wallet = '', text: record, previous, hash }) => ({
    ...{ number, at_ms: atMs, event, wallet_name: names.get(wallet) ?? noName, record, previous, hash },
  }))
}

const noName = Buffer.alloc(0)
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
