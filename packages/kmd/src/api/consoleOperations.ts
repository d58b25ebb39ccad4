/** Sessions of the console, and the list of signatures that it shows. */
import { AlgodError, type AssetInfo } from '@latchkey/algod'
import { readInTurns } from '../activity/KeptSignatures.js'
import type { SignatureRecord } from '../activity/SignatureLog.js'
import { nothing } from '../audit/subjects.js'
import { idleMs as sessionMs } from '../console/Sessions.js'
import { defaultLifetimeMs as ticketMs } from '../console/Tickets.js'
import { KmdError } from '../errors.js'
import type { ConsoleContext } from './Context.js'
import type { Implementations } from './Implementation.js'
import type { NodeClient } from './NodeClient.js'

export const consoleOperations = {
  CreateConsoleLink: {
    run: ({ tickets }) => ({ path: linkPath(tickets.create()), expires_seconds: ticketMs / 1000 }),
  },
  OpenConsole: {
    run: ({ tickets, sessions }, { ticket }) => {
      if (!tickets.redeem(ticket)) throw new KmdError('bad_ticket')
      return { session_token: sessions.open(), expires_seconds: sessionMs / 1000 }
    },
    record: { subject: nothing },
  },
  CloseConsole: {
    run: ({ sessions }, _input, caller) => {
      if (caller.type === 'session') sessions.close(caller.session)
      return {}
    },
  },
  GetSignings: {
    run: async (context, { after }) => {
      const { wallets, node, startedAtMs } = context
      const records = await listSignatures(context, after)
      const names = new Map<string, Buffer>()
      if (records.length > 0) for (const { key, name } of await wallets.list()) names.set(key, name)
      const assets = await knownAssets(node, records)
      return {
        since_ms: startedAtMs,
        signings: records.map((record) => describe(record, names, assets.get(record.facts.assetId) ?? unknownAsset)),
      }
    },
  },
} satisfies Partial<Implementations>

/** The signatures of earlier runs are numbered before those since the start. */
async function listSignatures({ signatureLog, keptSignatures }: ConsoleContext, after: number) {
  const { earlier } = keptSignatures
  const { length } = earlier
  const since = await readInTurns(signatureLog, Math.max(0, after - length))
  return [...earlier.slice(after), ...since.map((record) => ({ ...record, number: length + record.number }))]
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
