/** Claims the same payments as another process, starting at the same moment, and reports how many it got. */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { SqliteClaims } from './sqlite/SqliteClaims.js'

const [, , path, owner] = process.argv
const store = new SqliteClaims(path!)
const bound = { binding: 'b', proof: 'none' } as const
const lease = {
  owner: owner!,
  ...bound,
  nowMs: Date.now(),
  leaseMs: 60_000,
  network: 'n',
  round: 1n,
  forgetRound: 1_000n,
}
process.send!('ready')
await once(process, 'message')
let count = 0
for (let index = 0; index < 300; index++) {
  // In different orders, so that each process is ahead somewhere.
  const id = owner === 'a' ? index : 299 - index
  if (store.claim(`payment-${id}`, lease).type === 'new') count++
  // Neither process may finish before the other has begun.
  if (index === 0) await theOther()
  if (index % 10 === 0) await setTimeout(5)
}
store.close()
process.send!(count, () => process.disconnect())

/** Waits until the other process has begun too. */
async function theOther(): Promise<void> {
  process.send!('begun')
  await once(process, 'message')
}
