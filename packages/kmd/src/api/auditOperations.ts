/** Searches, verifies and anchors the audit log. These operations are for the owner. */
import { Address } from '@latchkey/algorand'
import { auditBounds, eventNames } from '@latchkey/kmd-api'
import * as AnchorNote from '../audit/AnchorNote.js'
import type { FoundRecord, Query } from '../audit/searchLog.js'
import { KmdError } from '../errors.js'
import type { Wallets } from '../wallet/Wallets.js'
import { actorOf } from './Context.js'
import type { Implementations, InputOf } from './Implementation.js'

const { mostRecords, defaultRecords, mostTextBytes } = auditBounds

export const auditOperations = {
  SearchAudit: {
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
  },
  VerifyAudit: {
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
  },
  PrepareAnchor: {
    run: ({ audit }) => {
      const head = audit.head()
      if (head.number === 0) throw new KmdError('bad_audit_query', { message: 'the audit log has no records yet' })
      return { number: head.number, hash: hex(head.hash), note: AnchorNote.write(head) }
    },
  },
  RecordAnchor: {
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
      const actor = actorOf(caller)
      const recorded_as = await audit.change(() => {
        audit.append({ event: 'log_anchored', actor, address, transaction, detail })
        return audit.head().number
      })
      return { recorded_as }
    },
  },
} satisfies Partial<Implementations>

function readQuery(input: InputOf<'SearchAudit'>): Query {
  const bad = (message: string): KmdError => new KmdError('bad_audit_query', { message })
  const unknown = input.events.find((event) => !eventNames.some((name) => name === event))
  if (unknown !== undefined) throw bad(`unknown event ${unknown.slice(0, 64)}`)
  if (input.count > mostRecords) throw bad(`count must be <= ${mostRecords}`)
  if (input.address !== '' && !Address.isValid(input.address)) throw new KmdError('bad_address')
  const tooLong = [input.actor, input.text].some(({ length }) => length > mostTextBytes)
  if (tooLong) throw bad(`actor and text must be <= ${mostTextBytes} bytes`)
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
