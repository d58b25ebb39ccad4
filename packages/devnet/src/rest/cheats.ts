/**
 * What no node of a real network has: money for the asking, time travel, snapshots, faults. Outside `/v2`, so that
 * a program that uses them meets a plain 404 in production.
 */
import type { RawResponse } from '@latchkey/http'
import type { Fault } from '../Faults.js'
import type { Gift } from '../ledger/Change.js'
import { dollarIds } from '../ledger/Genesis.js'
import * as Key from '../ledger/Key.js'
import { LedgerError } from '../ledger/LedgerError.js'
import { maxMinedRounds, type Node } from '../Node.js'
import * as Dump from '../store/Dump.js'
import { CheatBody } from './CheatBody.js'
import type { Call, Route } from './Route.js'
import * as Answer from './responses.js'
import type { Value } from './Value.js'

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
const algoDecimals = 6
const maxFaultMs = 600_000n
const maxFaultCount = 1_000_000n

function getDevnet({ node }: Call): RawResponse {
  const { dispenser, accounts, chain } = node.ledger.genesis
  return Answer.json({
    accounts: [dispenser, ...accounts].map(({ name, address, mnemonic, secretKey }) => ({
      address,
      mnemonic,
      name,
      'secret-key': secretKey,
    })),
    'development-only': true,
    dollars: [...dollarIds],
    'genesis-hash': Key.bytes(chain.genesisHash),
    'genesis-id': chain.genesisId,
  })
}

function getState({ node }: Call): RawResponse {
  return Answer.json(stateOf(node))
}

function stateOf({ ledger }: Node): Value {
  return {
    accounts: ledger.state.allAccounts().size,
    pending: ledger.pendingTransactions().length,
    round: ledger.last.round,
    'state-hash': Dump.hash(ledger.moment()),
    timestamp: ledger.last.timestamp,
    transactions: ledger.confirmedCount,
  }
}

async function fund(call: Call): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['address', 'algos', 'microAlgos', 'dollars', 'assetId', 'amount'])
  const assets = []
  const dollars = body.amount('dollars', dollarDecimals)
  if (dollars > 0n) for (const assetId of dollarIds) assets.push({ assetId, amount: dollars })
  if (body.has('amount') && !body.has('assetId')) throw new Answer.ApiError(400, 'amount is of an asset: give assetId')
  if (body.has('assetId')) assets.push({ assetId: body.uint('assetId'), amount: body.uint('amount') })
  const microAlgos = body.amount('algos', algoDecimals) + body.uint('microAlgos', { otherwise: 0n })
  return give(call, { type: 'gift', to: body.address('address'), microAlgos, assets })
}

async function optIn(call: Call): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['address', 'assetId'])
  const assets = [{ assetId: body.uint('assetId'), amount: 0n }]
  return give(call, { type: 'gift', to: body.address('address'), microAlgos: 0n, assets })
}

function give({ node }: Call, gift: Gift): RawResponse {
  try {
    node.ledger.give(gift)
  } catch (error) {
    if (error instanceof LedgerError) throw new Answer.ApiError(400, error.message, error.hint)
    throw error
  }
  const { state, last } = node.ledger
  return Answer.json({
    address: Key.address(gift.to),
    amount: state.account(gift.to).microAlgos,
    assets: state.heldBy(gift.to).map((assetId) => ({
      amount: state.holding(gift.to, assetId)!.amount,
      'asset-id': assetId,
    })),
    round: last.round,
  })
}

async function mine(call: Call): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['rounds'])
  call.node.mine(Number(body.uint('rounds', { min: 1n, max: BigInt(maxMinedRounds), otherwise: 1n })))
  return Answer.json({ round: call.node.ledger.last.round, timestamp: call.node.ledger.last.timestamp })
}

async function setTime(call: Call): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['timestamp', 'advanceSeconds'])
  const { ledger } = call.node
  if (body.has('timestamp') === body.has('advanceSeconds')) {
    throw new Answer.ApiError(400, 'give either timestamp or advanceSeconds')
  }
  const now = ledger.last.timestamp === 0n ? ledger.clock.seconds() : ledger.last.timestamp
  const timestamp = body.uint('timestamp', { otherwise: now + body.uint('advanceSeconds', { otherwise: 0n }) })
  refusingRange(() => ledger.setTime(timestamp))
  return Answer.json({ timestamp })
}

function refusingRange(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (error instanceof RangeError) throw new Answer.ApiError(400, error.message)
    throw error
  }
}

async function snapshot(call: Call): Promise<RawResponse> {
  await CheatBody.read(call, [])
  return Answer.json({ round: call.node.ledger.last.round, snapshot: call.node.snapshot() })
}

async function revert(call: Call): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['snapshot'])
  const id = body.uint('snapshot')
  if (!call.node.revert(Number(id))) throw new Answer.ApiError(404, `there is no snapshot ${id}`)
  return Answer.json({ round: call.node.ledger.last.round, snapshot: id })
}

async function reset(call: Call): Promise<RawResponse> {
  await CheatBody.read(call, [])
  call.node.reset()
  return Answer.json({ round: call.node.ledger.last.round })
}

function listFaults({ node }: Call): RawResponse {
  return Answer.json({ faults: [...node.faults.list()] })
}

async function addFault(call: Call): Promise<RawResponse> {
  const body = await CheatBody.read(call, ['type', 'ms', 'count', 'status', 'message'])
  const count = Number(body.uint('count', { min: 1n, max: maxFaultCount, otherwise: 1n }))
  const fault = readFault(body, count)
  refusingRange(() => call.node.faults.add(fault))
  return listFaults(call)
}

function readFault(body: CheatBody, count: number): Fault {
  const type = body.oneOf('type', ['delay', 'drop', 'fail', 'hold', 'lose'])
  switch (type) {
    case 'delay':
    case 'hold':
      return { type, ms: Number(body.uint('ms', { max: maxFaultMs })), count }
    case 'fail': {
      const status = Number(body.uint('status', { min: 400n, max: 599n, otherwise: 500n }))
      return { type, status, message: body.text('message', 'failed as asked for'), count }
    }
    case 'drop':
    case 'lose':
      return { type, count }
  }
}

function clearFaults(call: Call): RawResponse {
  call.node.faults.clear()
  return listFaults(call)
}

function dump({ node: { ledger } }: Call): RawResponse {
  return Answer.jsonText(Dump.write(ledger.moment(), ledger.genesis.chain.genesisHash))
}

async function load({ node, request }: Call): Promise<RawResponse> {
  const text = (await request.body()).toString('utf8')
  try {
    node.ledger.restore(Dump.read(text, node.ledger.genesis))
  } catch (error) {
    if (error instanceof Dump.DumpError) throw new Answer.ApiError(400, error.message)
    throw error
  }
  return Answer.json(stateOf(node))
}
