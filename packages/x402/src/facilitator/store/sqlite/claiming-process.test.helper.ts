/** A separate process that claims payments in a file, and prints those it got and those that the limits refused. */
import { SqliteSettlements } from './SqliteSettlements.js'

const [path, count, then, name = ''] = process.argv.slice(2) as [string, string, string, string?]
const store = new SqliteSettlements(path)
const claimed: string[] = []
const limited: string[] = []
for (let number = 0; number < Number(count); number++) {
  const transactionId = `${name}T${number}`
  const texts = { network: 'algorand:x', payer: `P${number % 7}`, payTo: `S${number % 3}`, asset: '1', amount: '1' }
  const rounds = { firstValid: 1n, lastValid: 2n, feeMicroAlgos: name === '' ? 0n : 3n, createdMs: number }
  const limits = name === '' ? {} : { feesPerPayTo: 100n, feesInAll: 250n, payerPerMinute: 12 }
  const settlement = { transactionId, group: [Uint8Array.of(1, 2, 3)], ...texts, ...rounds }
  const claim = await store.claim({ ...settlement, state: 'pending' }, limits)
  if (claim.type === 'recorded') claimed.push(transactionId)
  if (claim.type === 'limited') limited.push(claim.limit)
  // A failed settlement returns its fee, for any process to use.
  if (claim.type === 'recorded' && name !== '' && number % 5 === 0) {
    await store.finish(transactionId, { state: 'failed', errorReason: 'x', errorMessage: 'x' })
  }
}
process.stdout.write(`${JSON.stringify(name === '' ? claimed : { claimed, limited })}\n`)
if (then === 'stay') setInterval(() => {}, 1_000)
else store.close()
