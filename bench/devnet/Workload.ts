/** The groups that are submitted in a measurement, with the counters that show that they took effect. */
import { Hash } from '@latchkey/algorand'
import type { Algod, Fields } from './Algod.js'

export type Workload = {
  readonly name: string
  /** More than any target accepts in a second, because a transaction cannot be submitted twice. */
  readonly maxPerSecond: number
  /** Returns requests for as many future rounds. */
  readonly requests: (count: number) => Promise<Uint8Array[]>
  /** Reads the counters of the target. */
  readonly counters: () => Promise<readonly Counter[]>
}

/** A number that each accepted group increases. */
export type Counter = { readonly name: string; readonly value: bigint; readonly perGroup: bigint }

export function payments(algod: Algod): Workload {
  return {
    name: 'payments',
    maxPerSecond: 15_000,
    requests: (count) => algod.payments(count),
    counters: async () => [await rounds(algod)],
  }
}

/** Counts in the global state, writes the count to a box and logs it. */
const counting = `
byte "count"; byte "count"; app_global_get; int 1; +; app_global_put
byte "box"; byte "count"; app_global_get; itob; box_put
byte "count"; app_global_get; itob; log
int 1`

export async function calls(algod: Algod): Promise<Workload> {
  const apid = await deploy(algod, counting)
  const call: Fields = { type: 'appl', apid, apbx: [{ n: Buffer.from('box') }] }
  return {
    name: 'calls',
    maxPerSecond: 10_000,
    requests: (count) => algod.submissions(count, [call]),
    counters: async () => [
      await rounds(algod),
      { name: 'count in the global state', value: await globalCount(algod, apid), perGroup: 1n },
      { name: 'count in the box', value: await boxCount(algod, apid), perGroup: 1n },
    ],
  }
}

/** Costs exactly 700: arithmetic, byte strings, scratch space and a branch in a loop, then a count of the calls. */
const fullBudget = `
int 0
loop:
int 3; *; int 1000003; %; int 1; +
dup; itob; dup; concat; len; store 0; load 0; +
global OpcodeBudget; int 30; >; bnz loop
pop
int 1; int 2; popn 2
byte "count"; byte "count"; app_global_get; int 1; +; app_global_put
int 1`

const callBudget = 700

export async function fullBudgets(algod: Algod): Promise<Workload> {
  const apid = await deploy(algod, fullBudget)
  const call: Fields = { type: 'appl', apid }
  const { 'app-budget-consumed': cost, 'failure-message': failure } = await algod.simulate([call])
  if (cost !== callBudget) throw new Error(`the call costs ${cost} instead of ${callBudget}: ${failure}`)
  return {
    name: 'full_budgets',
    maxPerSecond: 5_000,
    requests: (count) => algod.submissions(count, [call]),
    counters: async () => [
      await rounds(algod),
      { name: 'count in the global state', value: await globalCount(algod, apid), perGroup: 1n },
    ],
  }
}

const groupSize = 16
const innersPerCall = 16

const paying = `
itxn_begin
${new Array(innersPerCall)
  .fill(
    `int pay; itxn_field TypeEnum; txn Sender; itxn_field Receiver
int 1; itxn_field Amount; int 0; itxn_field Fee`,
  )
  .join('\nitxn_next\n')}
itxn_submit
int 1`

/** Groups of 16 calls that each make 16 payments. */
export async function innerTransactions(algod: Algod): Promise<Workload> {
  const apid = await deploy(algod, paying)
  const call: Fields = { type: 'appl', apid, fee: BigInt(1_000 * (1 + innersPerCall)) }
  const group = new Array<Fields>(groupSize).fill(call)
  return {
    name: 'inner_transactions',
    maxPerSecond: 200,
    requests: (count) => algod.submissions(count, group),
    counters: async () => [
      await rounds(algod),
      {
        name: 'transactions, those of applications included',
        value: await transactionCount(algod),
        perGroup: BigInt(groupSize * (1 + innersPerCall)),
      },
    ],
  }
}

/** Throws unless every counter grew by what so many groups add to it. */
export function checkCounters(before: readonly Counter[], after: readonly Counter[], groups: number): void {
  for (const [index, { name, value, perGroup }] of after.entries()) {
    const grown = value - before[index]!.value
    const expected = perGroup * BigInt(groups)
    if (grown !== expected) throw new Error(`${groups} groups were answered: ${name} grew by ${grown}, not ${expected}`)
  }
}

async function rounds(algod: Algod): Promise<Counter> {
  return { name: 'rounds', value: await algod.round(), perGroup: 1n }
}

const appMicroAlgos = 100_000_000n

/** Creates an application, and funds its account. Returns its id. */
async function deploy(algod: Algod, source: string): Promise<bigint> {
  const [creator] = algod.payers
  const programOf = (text: string): Promise<Uint8Array> => algod.compile(`#pragma version 10\n${text}`)
  const { txId } = await algod.accept(
    [
      {
        type: 'appl',
        apap: await programOf(`txn ApplicationID; bnz called; int 1; return; called:\n${source}`),
        apsu: await programOf('int 1'),
        apgs: { nui: 1n },
      },
    ],
    creator!,
  )
  const { 'application-index': id } = (await algod.get(`/v2/transactions/pending/${txId}`)) as {
    'application-index': number
  }
  await algod.accept([{ type: 'pay', rcv: accountOf(id), amt: appMicroAlgos }], creator!)
  return BigInt(id)
}

function accountOf(appId: number): Uint8Array {
  const bytes = Buffer.alloc(13, 'appID')
  bytes.writeBigUInt64BE(BigInt(appId), 5)
  return Hash.sha512_256(bytes)
}

async function globalCount(algod: Algod, appId: bigint): Promise<bigint> {
  const { params } = (await algod.get(`/v2/applications/${appId}`)) as {
    params: { 'global-state'?: { value: { uint: number } }[] }
  }
  return BigInt(params['global-state']?.[0]?.value.uint ?? 0)
}

async function boxCount(algod: Algod, appId: bigint): Promise<bigint> {
  const { boxes } = (await algod.get(`/v2/applications/${appId}/boxes`)) as { boxes: unknown[] }
  if (boxes.length === 0) return 0n
  const { value } = (await algod.get(`/v2/applications/${appId}/box?name=str:box`)) as { value: string }
  return Buffer.from(value, 'base64').readBigUInt64BE()
}

async function transactionCount(algod: Algod): Promise<bigint> {
  const round = await algod.round()
  const { block } = (await algod.get(`/v2/blocks/${round}?header-only=true`)) as { block: { tc?: number } }
  return BigInt(block.tc ?? 0)
}
