/** A separate process that settles an authorization, and is killed at one step of the settlement. */
import { readFileSync } from 'node:fs'
import { Chain } from '../chain/Chain.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'
import { SqliteSettlements } from './store/sqlite/SqliteSettlements.js'

type Work = {
  readonly nodes: string
  readonly dollarAssetId: string
  readonly store: string
  readonly secretKey: string
  readonly payload: never
  readonly requirements: never
  /** Where the process is killed. */
  readonly step: string
}

const {
  nodes,
  dollarAssetId,
  store: path,
  secretKey,
  payload,
  requirements,
  step,
} = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Work

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

const fetchOrDie: typeof fetch = async (input, init) => {
  const isSubmission = init?.method === 'POST' && new URL(String(input)).pathname === '/v2/transactions'
  if (isSubmission && step === 'before submit') die()
  if (isSubmission && step === 'while submitting') {
    void fetch(input, init).catch(() => {})
    setTimeout(die, Math.random() * 20)
  }
  const response = await fetch(input, init)
  if (isSubmission && step === 'after submit') die()
  return response
}

const chain = await Chain.open({
  network: 'local',
  nodes,
  dollarAssetId: BigInt(dollarAssetId),
  fetch: fetchOrDie,
})
const store = new SqliteSettlements(path)
const claim = store.claim.bind(store)
store.claim = (...args: Parameters<typeof claim>) => {
  if (step === 'before record') die()
  const claimed = claim(...args)
  return step === 'after record' ? Promise.resolve(claimed).then(() => die()) : claimed
}
const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSecretKey(secretKey), store, pollMs: 20 })
await facilitator.verify(payload, { ...(requirements as object), amount: '500000' } as never)
await facilitator.settle(payload, requirements)
if (step === 'after settle') die()
