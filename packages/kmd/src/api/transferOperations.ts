/** Operations for preparing a transfer (parameters, assets, holdings, the node's simulation), and the faucet. */
import { AlgodError, explainRejection } from '@latchkey/algod'
import { Address, Amount, Bytes, SignedTransaction, type TransactionFile } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import type { NodeContext } from './Context.js'
import * as Faucet from './Faucet.js'
import type { Implementations, InputOf } from './Implementation.js'
import { decodeAddress, readTransactions } from './members.js'
import { explainNodeError, type NodeClient, withNode } from './NodeClient.js'
import { requireOwnAddresses } from './ownAgent.js'

const maxUint64 = 2n ** 64n - 1n

export const transferOperations = {
  GetTransactionParameters: { run: getParameters, runAsAgent: getParameters },
  GetAssets: { run: getAssets, runAsAgent: getAssets },
  GetHoldings: {
    run: ({ node }, { addresses, asset_id }) => {
      const id = readAssetId(asset_id)
      for (const address of addresses) decodeAddress(address)
      return getHoldings(node, id, addresses)
    },
    runAsAgent: (context, { addresses, asset_id }, caller) => {
      const id = readAssetId(asset_id)
      for (const address of addresses) decodeAddress(address)
      requireOwnAddresses(context, caller, addresses)
      return getHoldings(context.node, id, addresses)
    },
  },
  SimulateTransaction: {
    run: ({ node }, input) => {
      const members = readTransactions(input.transaction)
      return withNode(node, async (algod) => {
        const failure = await algod.simulate(await Promise.all(members.map((member) => toSimulated(algod, member))))
        if (failure === undefined) return { is_accepted: true, reason: '', explanation: '' }
        return { is_accepted: false, reason: failure.message, explanation: explainRejection(failure.message) }
      })
    },
  },
  FundAccount: {
    run: ({ node }, input) => {
      decodeAddress(input.address)
      const microAlgos = readAmount(input.micro_algos)
      const amount = readAmount(input.amount)
      const given = input.asset_id === '' ? undefined : { assetId: readAssetId(input.asset_id), amount }
      return withNode(node, async (algod) => {
        if ((await Faucet.find(algod, await algod.parameters())) === undefined) throw new KmdError('no_faucet')
        const funded = await fund(algod, { address: input.address, microAlgos, asset: given })
        return { micro_algos: String(funded.microAlgos), round: Number(funded.round) }
      })
    },
  },
} satisfies Partial<Implementations>

function getParameters({ node }: NodeContext) {
  return withNode(node, async (algod) => {
    const { genesisId, genesisHash, lastRound, minFee, feePerByte } = await algod.parameters()
    return {
      genesis_id: genesisId,
      genesis_hash: Bytes.toBase64(genesisHash),
      last_round: Number(lastRound),
      min_fee_micro_algos: String(minFee),
      fee_per_byte_micro_algos: String(feePerByte),
    }
  })
}

function getAssets({ node }: NodeContext, input: InputOf<'GetAssets'>) {
  const ids = input.asset_ids.map(readAssetId)
  return withNode(node, async (algod) => ({ assets: await Promise.all(ids.map((id) => describeAsset(algod, id))) }))
}

function getHoldings(node: NodeClient | undefined, id: bigint, addresses: readonly string[]) {
  return withNode(node, async (algod) => ({
    holdings: await Promise.all(addresses.map((address) => describeHolding(algod, address, id))),
  }))
}

function readAssetId(given: string): bigint {
  const id = /^[0-9]{1,20}$/.test(given) ? BigInt(given) : 0n
  if (id === 0n || id > maxUint64) throw new KmdError('bad_asset_id')
  return id
}

function readAmount(given: string): bigint {
  if (given === '') return 0n
  const amount = Amount.parse(given, 0)
  if (amount === undefined || amount > maxUint64) throw new KmdError('bad_amount')
  return amount
}

async function describeAsset(algod: NodeClient, id: bigint) {
  const info = await algod.asset(id)
  return {
    asset_id: String(id),
    exists: info !== undefined,
    decimals: info?.decimals ?? 0,
    unit_name: info?.unitName ?? '',
    name: info?.name ?? '',
    creator: info?.creator ?? '',
    is_frozen_by_default: info?.isFrozenByDefault ?? false,
  }
}

async function describeHolding(algod: NodeClient, address: string, id: bigint) {
  const found = await algod.holding(address, id)
  const [amount, isFrozen] = [String(found?.amount ?? 0n), found?.isFrozen ?? false]
  return { address, is_opted_in: found !== undefined, amount, is_frozen: isFrozen }
}

/**
 * For a rekeyed sender, an unsigned transaction names the signer. Otherwise the node takes the sender for the signer.
 */
async function toSimulated(algod: NodeClient, { transaction, signed }: TransactionFile.Member): Promise<Uint8Array> {
  if (signed !== undefined) return SignedTransaction.encode(signed)
  const { authAddress } = await algod.account(Address.encode(transaction.snd))
  const signer = authAddress === undefined ? {} : { sgnr: Address.decode(authAddress) }
  return SignedTransaction.encode({ txn: transaction, ...signer })
}

async function fund(algod: NodeClient, funding: Parameters<NodeClient['fund']>[0]) {
  try {
    return await algod.fund(funding)
  } catch (error) {
    const isRefused = error instanceof AlgodError && error.code === 'rejected'
    throw isRefused ? new KmdError('faucet_refused', { message: explainNodeError(error), cause: error }) : error
  }
}
