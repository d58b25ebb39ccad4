/**
 * Takes requests of one pass in parallel with another process, starting at the same moment, and reports how many it
 * got.
 */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { SqliteClaims } from './sqlite/SqliteClaims.js'

const store = new SqliteClaims(process.argv[2]!)
process.send!('ready')
await once(process, 'message')
let count = 0
for (let index = 0; index < 300; index++) {
  if (store.passes.take('payment', Date.now()).type === 'taken') count++
  if (index === 0) await theOther()
  // Returns some of the requests that it has taken, but keeps one: the other may take all others on a busy machine.
  if (index % 10 === 0 && count > 1) {
    store.passes.giveBack('payment')
    count--
    await setTimeout(5)
  }
}
store.close()
process.send!(count, () => process.disconnect())

/** Waits until the other process has begun too. */
async function theOther(): Promise<void> {
  process.send!('begun')
  await once(process, 'message')
}
