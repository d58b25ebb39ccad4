/** Claims the same payments as other processes from the same moment on, 32 at a time, and reports how many it got. */
import { once } from 'node:events'
import { PostgresClaims } from '@latchkey/x402/postgres'
import { RedisClaims } from '@latchkey/x402/redis'
import { idOf } from './paymentIds.test.helper.js'

const [, , address, name, count] = process.argv as [string, string, string, string, string]
const store = address.startsWith('redis:')
  ? await RedisClaims.open({ address })
  : await PostgresClaims.open({ address })
process.send!('ready')
await once(process, 'message')
const lease = { binding: 'b', proof: 'none', leaseMs: 60_000, network: 'n', round: 1n, forgetRound: 9n } as const
let next = 0
let claimed = 0
const work = async (_: unknown, index: number): Promise<void> => {
  while (next < Number(count)) {
    const payment = next++
    const owner = `${name}-${index}-${payment}`
    if ((await store.claim(idOf(payment), { ...lease, owner, nowMs: Date.now() })).type === 'new') claimed++
  }
}
await Promise.all(Array.from({ length: 32 }, work))
await store.close()
process.send!(claimed, () => process.disconnect())
