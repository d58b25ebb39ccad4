/** Describes transactions in plain language before they are signed. Needs no wallet, because nothing here is secret. */
import { Address, Bytes, Description, Transaction, type TransactionFile } from '@latchkey/algorand'
import type { Implementations } from './Implementation.js'
import { readTransactions } from './members.js'
import type { NodeClient } from './NodeClient.js'

export const describeOperations = {
  DescribeTransaction: {
    run: async ({ node }, input) => {
      const members = readTransactions(input.transaction)
      const transactions = members.map(({ transaction }) => transaction)
      const units = await unitsOf(node, transactions)
      return {
        transactions: members.map((member) => describe(member, units)),
        group_warnings: Description.describeGroup(transactions),
      }
    },
  },
} satisfies Partial<Implementations>

/** The units of assets on one network. The same id is a different asset on another network. */
type Units = { genesisHash: Uint8Array; assets: ReadonlyMap<bigint, Description.Asset> }

const maxAssets = 32
const patienceMs = 2_000

/** Units make a description easier to read. A slow or missing node must not delay or prevent it. */
async function unitsOf(
  node: NodeClient | undefined,
  transactions: readonly Transaction.Transaction[],
): Promise<Units | undefined> {
  if (node === undefined || !transactions.some((transaction) => assetsOf(transaction).length > 0)) return undefined
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, patienceMs, undefined)
  })
  const units = queryUnits(node, transactions).catch(() => undefined)
  return Promise.race([units, late]).finally(() => clearTimeout(timer))
}

async function queryUnits(node: NodeClient, transactions: readonly Transaction.Transaction[]): Promise<Units> {
  const { genesisHash } = await node.parameters()
  const ids = new Set(transactions.filter((one) => isOn(one, genesisHash)).flatMap(assetsOf))
  const assets = new Map<bigint, Description.Asset>()
  const one = async (id: bigint): Promise<void> => {
    const asset = await node.asset(id).catch(() => undefined)
    if (asset !== undefined) assets.set(id, { ...asset, unitName: asset.unitName ?? '' })
  }
  await Promise.all([...ids].slice(0, maxAssets).map(one))
  return { genesisHash, assets }
}

function assetsOf({ xaid, caid, faid, apas = [] }: Transaction.Transaction): bigint[] {
  return [xaid, caid, faid, ...apas].filter((id) => id !== undefined && id !== 0n) as bigint[]
}

function isOn({ gh }: Transaction.Transaction, genesisHash: Uint8Array): boolean {
  return gh !== undefined && Bytes.equal(gh, genesisHash)
}

function describe({ transaction, bytes: canonical, isSigned }: TransactionFile.Member, units: Units | undefined) {
  const assets = units !== undefined && isOn(transaction, units.genesisHash) ? units.assets : undefined
  const { lines, warnings, finalWarnings } = Description.describe(transaction, { assets })
  return {
    transaction_id: Transaction.id(canonical),
    type: transaction.type,
    sender: Address.encode(transaction.snd),
    words: lines,
    warnings,
    // Only warnings about irreversible effects.
    final_warnings: finalWarnings,
    is_signed: isSigned,
    transaction: canonical,
  }
}
