// `npm run test:times`: the slowest 30 test processes of the last whole run of each tier, and the slowest 30 files.
import { nameOf } from './testing/Outcome.mjs'
import { tiers } from './testing/tiers.mjs'
import { readTimes } from './testing/times.mjs'

const seconds = (ms) => (ms / 1000).toFixed(1).padStart(8)

for (const tier of Object.keys(tiers)) {
  const rows = readTimes(tier)
  if (rows.length === 0) continue
  const total = (of) => seconds(rows.reduce((sum, row) => sum + of(row), 0)).trim()
  console.log(
    `\n${tier}: ${rows.length} processes, ${total((row) => row.cpuMs)} s CPU, ${total((row) => row.wallMs)} s wall`,
  )
  console.log('    CPU s   wall s  process')
  for (const { name, cpuMs, wallMs } of rows.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 30)) {
    console.log(` ${seconds(cpuMs)} ${seconds(wallMs)}  ${nameOf(name)}`)
  }
  console.log('   wall s  file')
  const files = rows.flatMap((row) => row.files)
  for (const { file, ms } of files.toSorted((a, b) => b.ms - a.ms).slice(0, 30)) {
    console.log(` ${seconds(ms)}  ${nameOf(file)}`)
  }
}
