/**
 * Benchmarks the standard form of the devnet's handler: payments over HTTP to the raw and the standard form,
 * alternating, with the CPU time of each per payment.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Algod } from './devnet/Algod.js'
import type { Form } from './devnet/host.js'
import { Load } from './support/Load.js'
import { median, pairedRatio, tidy } from './support/Statistics.js'

const forms: readonly Form[] = ['raw', 'standard']
const maxPerSecond = 15_000
const clockTicksPerSecond = 100

type Target = { form: Form; child: ChildProcess; algod: Algod; perSecond: number[]; cpuUs: number[] }

async function start(form: Form): Promise<Target> {
  const child = fork(new URL('./devnet/host.js', import.meta.url), [form])
  const [{ url, mnemonic }] = (await once(child, 'message')) as [{ url: string; mnemonic: string }]
  const algod = new Algod(Number(new URL(url).port), '')
  await algod.fundPayers(mnemonic)
  return { form, child, algod, perSecond: [], cpuUs: [] }
}

function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond) * 1e6
}

async function measure(
  { child, algod, perSecond, cpuUs: samples }: Target,
  load: Load,
  windowMs: number,
): Promise<void> {
  const requests = await algod.payments(Math.ceil((maxPerSecond * windowMs) / 1000))
  const before = cpuUs(child.pid!)
  const result = await load.run({ port: algod.port, requests, connections: 16, windowMs })
  samples.push((cpuUs(child.pid!) - before) / result.requests)
  perSecond.push(result.perSecond)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '7' }, 'window-ms': { type: 'string', default: '1500' } },
  })
  const load = new Load()
  const targets = await Promise.all(forms.map(start))
  const windowMs = Number(values['window-ms'])
  for (const target of targets) await measure(target, load, windowMs)
  for (const { perSecond, cpuUs } of targets) perSecond.length = cpuUs.length = 0
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) await measure(target, load, windowMs)
  }
  const [raw, standard] = targets as [Target, Target]
  const result = {
    ...Object.fromEntries(
      targets.map(({ form, perSecond, cpuUs }) => [
        form,
        { payments_per_s: tidy(median(perSecond)), cpu_us_per_payment: tidy(median(cpuUs)) },
      ]),
    ),
    standard_to_raw: {
      payments_per_s: tidy(pairedRatio(standard.perSecond, raw.perSecond)),
      cpu: tidy(pairedRatio(standard.cpuUs, raw.cpuUs)),
    },
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  for (const { child } of targets) child.disconnect()
  await load.stop()
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
