/** A process of its own: claims payments in a file and says which it got. */
import { SqliteSettlements } from './SqliteSettlements.js'

const [path, count, then] = process.argv.slice(2) as [string, string, string]
const store = new SqliteSettlements(path)
const claimed: string[] = []
for (let number = 0; number < Number(count); number++) {
  const transactionId = `T${number}`
  const texts = { network: 'algorand:x', payer: 'P', payTo: 'S', asset: '1', amount: '1' }
  const rounds = { firstValid: 1n, lastValid: 2n, feeMicroAlgos: 0n, createdMs: number }
  if (await store.claim({ transactionId, state: 'pending', group: [Uint8Array.of(1, 2, 3)], ...texts, ...rounds })) {
    claimed.push(transactionId)
  }
}
process.stdout.write(`${JSON.stringify(claimed)}\n`)
if (then === 'stay') setInterval(() => {}, 1_000)
else store.close()
