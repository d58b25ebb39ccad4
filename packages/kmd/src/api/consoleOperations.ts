/** Sessions of the console, and the list of signatures that it shows. */
import { setImmediate } from 'node:timers/promises'
import { AlgodError, type AssetInfo } from '@latchkey/algod'
import type { SignatureLog, SignatureRecord } from '../activity/SignatureLog.js'
import { idleMs as sessionMs } from '../console/Sessions.js'
import { defaultLifetimeMs as ticketMs } from '../console/Tickets.js'
import { KmdError } from '../errors.js'
import { extraPrefix } from './latchkeyOperations.js'
import type { NodeClient } from './NodeClient.js'
import { ascii, define, uint } from './Operation.js'

const text = { type: 'string' } as const
const count = { type: 'uint', format: 'int64' } as const

const signing = {
  type: 'object',
  name: 'Signing',
  members: [
    { name: 'number', shape: count },
    { name: 'at_ms', shape: count, about: 'Milliseconds since 1970' },
    { name: 'wallet_id', shape: { type: 'text' } },
    { name: 'wallet_name', shape: { type: 'text' }, about: 'As it is called now; blank if it is gone' },
    { name: 'transaction_id', shape: text, about: 'Blank for a program' },
    { name: 'program', shape: text, about: 'The address that a program hashes to; blank for a transaction' },
    { name: 'type', shape: text, about: 'The type of the transaction, or program' },
    { name: 'sender', shape: text, about: 'The account that the transaction is from, or that the program may act for' },
    { name: 'receiver', shape: text, about: 'Blank where there is none' },
    { name: 'amount', shape: text, about: 'In the smallest unit of the asset, as decimal text' },
    { name: 'asset_id', shape: text, about: 'As decimal text; 0 for Algos' },
    { name: 'unit_name', shape: text, about: 'Blank where no node could tell' },
    { name: 'decimals', shape: count },
    { name: 'fee_micro_algos', shape: text, about: 'As decimal text' },
    { name: 'is_multisig', shape: { type: 'bool' } },
    { name: 'warnings', shape: { type: 'list', of: text } },
  ],
} as const

export const consoleOperations = [
  define({
    id: 'CreateConsoleLink',
    method: 'POST',
    path: `${extraPrefix}/console/link`,
    about: 'Makes a link to the console that works once.',
    request: [],
    response: [
      { name: 'path', shape: text, about: 'To be opened at the address of the daemon' },
      { name: 'expires_seconds', shape: count },
    ],
    responseName: 'CreateConsoleLinkResponse',
    run: ({ tickets }) => ({ path: linkPath(tickets.create()), expires_seconds: ticketMs / 1000 }),
  }),
  define({
    id: 'OpenConsole',
    method: 'POST',
    path: `${extraPrefix}/console/session`,
    once: true,
    about: 'Trades the ticket of a link for the token of a session, which goes in the place of the API token.',
    open: 'always',
    request: [{ name: 'ticket', kind: ascii, about: 'What the link has after its #' }],
    response: [
      { name: 'session_token', shape: text },
      { name: 'expires_seconds', shape: count, about: 'How long the session lives without being used' },
    ],
    responseName: 'OpenConsoleResponse',
    errors: ['bad_ticket'],
    run: ({ tickets, sessions }, { ticket }) => {
      if (!tickets.redeem(ticket)) throw new KmdError('bad_ticket')
      return { session_token: sessions.open(), expires_seconds: sessionMs / 1000 }
    },
  }),
  define({
    id: 'CloseConsole',
    method: 'POST',
    path: `${extraPrefix}/console/close`,
    about: 'Ends the session that asks. With the API token it does nothing.',
    request: [],
    response: [],
    responseName: 'CloseConsoleResponse',
    run: ({ sessions }, _input, caller) => {
      if (caller.type === 'session') sessions.close(caller.session)
      return {}
    },
  }),
  define({
    id: 'GetSignings',
    method: 'POST',
    path: `${extraPrefix}/signings`,
    about:
      'Lists the transactions and programs that were signed since the daemon started, oldest first, 1,000 at most.',
    request: [{ name: 'after', kind: uint, about: 'Only those with higher numbers; absent for all' }],
    response: [
      { name: 'since_ms', shape: count, about: 'When the daemon started, in milliseconds since 1970' },
      { name: 'signings', shape: { type: 'list', of: signing } },
    ],
    responseName: 'GetSigningsResponse',
    run: async ({ signatureLog, wallets, node, startedAtMs }, { after }) => {
      const records = await readInTurns(signatureLog, after)
      const names = new Map<string, Buffer>()
      if (records.length > 0) for (const { key, name } of await wallets.list()) names.set(key, name)
      const assets = await knownAssets(node, records)
      return {
        since_ms: startedAtMs,
        signings: records.map((record) => describe(record, names, assets.get(record.facts.assetId) ?? unknownAsset)),
      }
    },
  }),
]

const recordsPerTurn = 16

/**
 * Lets other requests run in between, because reading a thousand records for the first time takes a fifth of a second.
 */
async function readInTurns(log: SignatureLog, after: number): Promise<SignatureRecord[]> {
  const records: SignatureRecord[] = []
  const end = log.lastNumber
  for (let last = after; last < end; ) {
    const read = log.after(last, recordsPerTurn)
    records.push(...read)
    last = read.at(-1)?.number ?? end
    if (last < end) await setImmediate()
  }
  return records
}

/** The ticket is in the fragment, which browsers do not send. */
export function linkPath(ticket: string): string {
  return `/console/#${ticket}`
}

const algos: AssetInfo = { decimals: 6, unitName: 'ALGO' }
const unknownAsset: AssetInfo = { decimals: 0, unitName: undefined }

/** Omits assets that the node does not return, because the list must not depend on a node. */
async function knownAssets(
  node: NodeClient | undefined,
  records: readonly SignatureRecord[],
): Promise<Map<bigint, AssetInfo>> {
  const assets = new Map([[0n, algos]])
  if (node === undefined) return assets
  const ids = new Set(records.map(({ facts }) => facts.assetId).filter((id) => id !== 0n))
  const fetchAsset = async (id: bigint): Promise<void> => {
    try {
      assets.set(id, (await node.asset(id)) ?? unknownAsset)
    } catch (error) {
      if (!(error instanceof AlgodError)) throw error
    }
  }
  await Promise.all([...ids].map(fetchAsset))
  return assets
}

function describe(
  { number, atMs, walletKey, isMultisig, facts }: SignatureRecord,
  names: Map<string, Buffer>,
  asset: AssetInfo,
) {
  return {
    number,
    at_ms: atMs,
    wallet_id: Buffer.from(walletKey, 'latin1'),
    wallet_name: names.get(walletKey) ?? Buffer.alloc(0),
    transaction_id: facts.transactionId,
    program: facts.program,
    type: facts.type,
    sender: facts.sender,
    receiver: facts.receiver,
    amount: String(facts.amount),
    asset_id: String(facts.assetId),
    unit_name: asset.unitName ?? '',
    decimals: asset.decimals,
    fee_micro_algos: String(facts.feeMicroAlgos),
    is_multisig: isMultisig,
    warnings: facts.warnings,
  }
}
