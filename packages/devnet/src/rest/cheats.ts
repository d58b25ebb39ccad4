/**
 * Operations that real networks do not have: funding, time travel, snapshots, faults. They are outside `/v2`, so that a
 * program that uses them gets a plain 404 in production.
 */
import { Amount } from '@latchkey/algorand'
import type { RawResponse } from '@latchkey/http'
import { type DevnetNode, type Fault, maxMinedRounds } from '../DevnetNode.js'
import { DevnetError, DumpError } from '../errors.js'
import { dollarIds } from '../ledger/Genesis.js'
import type { FundChange } from '../ledger/LedgerChange.js'
import { LedgerError } from '../ledger/LedgerError.js'
import * as MapKey from '../ledger/MapKey.js'
import * as avm from '../ledger/programs/avm.js'
import * as Dump from '../store/Dump.js'
import { ApiError } from './ApiError.js'
import { CheatBody } from './CheatBody.js'
import type { Value } from './HttpResponse.js'
import * as HttpResponse from './HttpResponse.js'
import type { Route, RouteContext } from './Route.js'

export const cheatRoutes: readonly Route[] = (
  [
    { method: 'GET', path: '/devnet', handle: getDevnet },
    { method: 'GET', path: '/devnet/state', handle: getState },
    { method: 'POST', path: '/devnet/fund', handle: fund },
    { method: 'POST', path: '/devnet/opt-in', handle: optIn },
    { method: 'POST', path: '/devnet/mine', handle: mine },
    { method: 'POST', path: '/devnet/time', handle: setTime },
    { method: 'POST', path: '/devnet/snapshot', handle: snapshot },
    { method: 'POST', path: '/devnet/revert', handle: revert },
    { method: 'POST', path: '/devnet/reset', handle: reset },
    { method: 'GET', path: '/devnet/faults', handle: listFaults },
    { method: 'POST', path: '/devnet/faults', handle: addFault },
    { method: 'DELETE', path: '/devnet/faults', handle: clearFaults },
    { method: 'GET', path: '/devnet/dump', handle: dump },
    { method: 'POST', path: '/devnet/load', handle: load },
  ] as const
).map((route) => ({ ...route, access: 'cheat' }))

const dollarDecimals = 6
const maxFaultMs = 600_000n
const maxFaultCount = 1_000_000n

function getDevnet({ node }: RouteContext): RawResponse {
  const { onlineAccounts, faucet, accounts, chain } = node.ledger.genesis
  return HttpResponse.json({
    accounts: [...onlineAccounts, faucet, ...accounts].map(({ name, address, mnemonic, secretKey }) => ({
      address,
      mnemonic,
      name,
      'secret-key': secretKey,
    })),
    'development-only': true,
    dollars: [...dollarIds],
    'genesis-hash': MapKey.bytes(chain.genesisHash),
    'genesis-id': chain.genesisId,
  })
}

function getState({ node }: RouteContext): RawResponse {
  return HttpResponse.json(stateOf(node))
}

function stateOf({ ledger }: DevnetNode): Value {
  return {
    accounts: ledger.state.allAccounts().size,
    pending: ledger.pendingTransactions().length,
    round: ledger.last.round,
    'state-hash': Dump.hash(ledger.snapshot()),
    timestamp: ledger.last.timestamp,
    transactions: ledger.confirmedCount,
  }
}

async function fund(call: RouteContext): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['address', 'algos', 'microAlgos', 'dollars', 'assetId', 'amount'])
  const assets = []
  const dollars = body.amount('dollars', dollarDecimals)
  if (dollars > 0n) for (const assetId of dollarIds) assets.push({ assetId, amount: dollars })
  if (body.has('amount') && !body.has('assetId')) throw new ApiError(400, 'amount requires assetId')
  if (body.has('assetId')) assets.push({ assetId: body.uint('assetId'), amount: body.uint('amount') })
  const microAlgos = body.amount('algos', Amount.algoDecimals) + body.uint('microAlgos', { fallback: 0n })
  return applyFunding(call, { type: 'fund', to: body.address('address'), microAlgos, assets })
}

async function optIn(call: RouteContext): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['address', 'assetId'])
  const assets = [{ assetId: body.uint('assetId'), amount: 0n }]
  return applyFunding(call, { type: 'fund', to: body.address('address'), microAlgos: 0n, assets })
}

function applyFunding({ node }: RouteContext, change: FundChange): RawResponse {
  try {
    node.ledger.fund(change)
  } catch (error) {
    if (error instanceof LedgerError) throw new ApiError(400, error.message, error.hint)
    throw error
  }
  const { state, last } = node.ledger
  return HttpResponse.json({
    address: MapKey.address(change.to),
    amount: state.account(change.to).microAlgos,
    assets: state.heldBy(change.to).map((assetId) => ({
      amount: state.holding(change.to, assetId)!.amount,
      'asset-id': assetId,
    })),
    round: last.round,
  })
}

async function mine(call: RouteContext): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['rounds'])
  call.node.mine(Number(body.uint('rounds', { min: 1n, max: BigInt(maxMinedRounds), fallback: 1n })))
  return HttpResponse.json({ round: call.node.ledger.last.round, timestamp: call.node.ledger.last.timestamp })
}

async function setTime(call: RouteContext): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['timestamp', 'advanceSeconds'])
  const { ledger } = call.node
  if (body.has('timestamp') === body.has('advanceSeconds')) {
    throw new ApiError(400, 'set either timestamp or advanceSeconds')
  }
  const now = ledger.last.timestamp === 0n ? ledger.clock.seconds() : ledger.last.timestamp
  const timestamp = body.uint('timestamp', { fallback: now + body.uint('advanceSeconds', { fallback: 0n }) })
  toApiError(() => ledger.setTime(timestamp))
  return HttpResponse.json({ timestamp })
}

function toApiError(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (error instanceof DevnetError) throw new ApiError(400, error.message)
    throw error
  }
}

async function snapshot(call: RouteContext): Promise<RawResponse> {
  await CheatBody.read(call, [])
  return HttpResponse.json({ round: call.node.ledger.last.round, snapshot: call.node.snapshot() })
}

async function revert(call: RouteContext): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['snapshot'])
  const id = body.uint('snapshot')
  if (!call.node.hasSnapshot(Number(id))) throw new ApiError(404, `there is no snapshot ${id}`)
  call.node.revert(Number(id))
  return HttpResponse.json({ round: call.node.ledger.last.round, snapshot: id })
}

async function reset(call: RouteContext): Promise<RawResponse> {
  await CheatBody.read(call, [])
  call.node.reset()
  return HttpResponse.json({ round: call.node.ledger.last.round })
}

function listFaults({ node }: RouteContext): RawResponse {
  return HttpResponse.json({ faults: [...node.faults.list()] })
}

async function addFault(call: RouteContext): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['type', 'ms', 'count', 'status', 'message'])
  const count = Number(body.uint('count', { min: 1n, max: maxFaultCount, fallback: 1n }))
  const fault = readFault(body, count)
  toApiError(() => call.node.faults.add(fault))
  return listFaults(call)
}

function readFault(body: CheatBody, count: number): Fault {
  const type = body.oneOf('type', ['delay', 'drop', 'fail', 'hold', 'lose'])
  switch (type) {
    case 'delay':
    case 'hold':
      return { type, ms: Number(body.uint('ms', { max: maxFaultMs })), count }
    case 'fail': {
      const status = Number(body.uint('status', { min: 400n, max: 599n, fallback: 500n }))
      return { type, status, message: body.text('message', 'injected fault'), count }
    }
    case 'drop':
    case 'lose':
      return { type, count }
  }
}

function clearFaults(call: RouteContext): RawResponse {
  call.node.faults.clear()
  return listFaults(call)
}

function dump({ node: { ledger } }: RouteContext): RawResponse {
  return HttpResponse.jsonText(Dump.write(ledger.snapshot(), ledger.genesis.chain.genesisHash))
}

async function load({ node, request }: RouteContext): Promise<RawResponse> {
  const text = (await request.body()).toString('utf8')
  try {
    await avm.withPrograms(() => node.ledger.restore(Dump.read(text, node.ledger.genesis)))
  } catch (error) {
    if (error instanceof DumpError) throw new ApiError(400, error.message)
    throw error
  }
  return HttpResponse.json(stateOf(node))
}
