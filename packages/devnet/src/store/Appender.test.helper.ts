/** Run on its own: makes blocks, and tells the round of each once it is on the disk, until it is killed. */
import { writeSync } from 'node:fs'
import { Driver, genesis } from './Driver.test.helper.js'
import { LogFile } from './LogFile.js'

const compactionBytes = 20_000

const path = process.argv[2]
if (path !== undefined) {
  let log: LogFile | undefined
  const driver = new Driver((change) => log!.append(change))
  log = await LogFile.open({ path, genesis, replay: (change) => driver.ledger.replay(change) })
  for (let count = 0; ; count++) {
    driver.perform({ do: 'pay', a: count % 3, b: (count + 1) % 3, n: count })
    driver.perform({ do: 'block', a: 0, b: 0, n: 0 })
    const { round } = driver.ledger.last
    // Without waiting for it: the blocks that follow must come after it whatever happens.
    if (log.bytesSinceCompaction > compactionBytes) log.compact(driver.ledger.moment()).catch(() => {})
    if (count % 3 === 0) continue
    await log.synced()
    writeSync(1, `${round}\n`)
  }
}
