// `npm run test:times`: prints the 30 test processes and the 30 files that took the most CPU time in the last full run
// of each tier. `-- --save` writes these times to the expected times, which decide the order of the next runs.
import { nameOf } from './testing/Outcome.mjs'
import { tiers } from './testing/tiers.mjs'
import { readTimes, saveExpectedTimes } from './testing/times.mjs'

const seconds = (ms) => (ms / 1000).toFixed(1).padStart(8)

for (const tier of Object.keys(tiers)) {
  const rows = readTimes(tier)
  if (rows.length === 0) continue
  const total = (timeOf) => seconds(rows.reduce((sum, row) => sum + timeOf(row), 0)).trim()
  console.log(
    `\n${tier}: ${rows.length} processes, ${total((row) => row.cpuMs)} s CPU, ${total((row) => row.wallMs)} s wall`,
  )
  console.log('    CPU s   wall s  process')
  for (const { name, cpuMs, wallMs } of rows.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 30)) {
    console.log(` ${seconds(cpuMs)} ${seconds(wallMs)}  ${nameOf(name)}`)
  }
  console.log('    CPU s   wall s  file')
  const files = rows.flatMap((row) => row.files)
  for (const { file, cpuMs, ms } of files.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 30)) {
    console.log(` ${seconds(cpuMs)} ${seconds(ms)}  ${nameOf(file)}`)
  }
}

if (process.argv.includes('--save')) saveExpectedTimes(['node', 'system'])
