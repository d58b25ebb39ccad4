/** A program that makes blocks until it is killed, and prints the round of each once it is on the disk. */
import { writeSync } from 'node:fs'
import { genesis, LedgerSimulator } from './LedgerSimulator.test.helper.js'
import { StateFile } from './StateFile.js'

const compactionBytes = 20_000

const path = process.argv[2]
if (path !== undefined) {
  let log: StateFile | undefined
  const simulator = new LedgerSimulator((change) => log!.append(change))
  log = await StateFile.open({ path, genesis, replay: (change) => simulator.ledger.replay(change) })
  for (let count = 0; ; count++) {
    simulator.perform({ do: 'pay', a: count % 3, b: (count + 1) % 3, n: count })
    simulator.perform({ do: 'block', a: 0, b: 0, n: 0 })
    const { round } = simulator.ledger.last
    // Not awaited, because later blocks must follow the compaction in any case.
    if (log.bytesSinceCompaction > compactionBytes) log.compact(simulator.ledger.snapshot()).catch(() => {})
    if (count % 3 === 0) continue
    await log.synced()
    writeSync(1, `${round}\n`)
  }
}
