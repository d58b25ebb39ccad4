/**
 * Benchmarks short-lived processes: a daemon from its start to its first response and from SIGTERM to its exit, and
 * commands that exit on their own. An empty Node process is measured alternately with them as a lower bound.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as Arguments from './support/Arguments.js'
import { Connection } from './support/Connection.js'
import { Daemon } from './support/Daemon.js'
import * as DataDirectory from './support/DataDirectory.js'
import { median, tidy } from './support/Statistics.js'
import { now, TimedProcess } from './support/TimedProcess.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

const help = `Usage:
  npm run bench:start -- [--rounds N] [--checkout DIR] [-- <command of another kmd with {dir}> ...]

Measures, in turn, an empty Node process, our daemon and commands, those of another built checkout, and other daemons.
Prints one line of JSON: for each the medians over the rounds.

  --rounds    how often each is measured (21)
  --checkout  another checkout of this repository, for instance of the state before a change
  --help      this text

listening_ms and answered_ms are from the start of the process until kmd.net and kmd.pid are there, and until the first
request with the API token is answered; stop_ms is from SIGTERM to the end. cpu_ms is user and system time of the whole
life. share_ms is answered_ms, or wall_ms, without the time of the empty Node process in the same round; share_cpu_ms
is the same of cpu_ms. load_before is the load average of the machine: on a busy one only processor times mean something.
`

type Sample = { [quantity: string]: number }
type Subject = { name: string; measure: () => Promise<Sample> }

const startLimitMs = 60_000

async function measureCommand(command: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Sample> {
  const { wallMs, cpuMs } = await new TimedProcess(command, environment).ended()
  return { wall_ms: wallMs, cpu_ms: cpuMs }
}

/** Starts a daemon on a new data directory, sends one request, and stops it. */
async function measureDaemon(command: readonly string[], parent: string): Promise<Sample> {
  const directory = DataDirectory.create(join(mkdtempSync(join(parent, 'daemon-')), 'data'), 'unsafe')
  const child = new TimedProcess(command.map((word) => word.replaceAll('{dir}', directory)))
  let isOver = false
  child.ended().then(
    () => {
      isOver = true
    },
    () => {
      isOver = true
    },
  )
  const deadline = now() + startLimitMs
  // The process id is written last.
  while (readIfThere(join(directory, 'kmd.pid')) === '') {
    if (isOver) await child.ended()
    if (isOver || now() > deadline) throw new Error(`${command[0]} did not start`)
    await sleep(0.5)
  }
  const listeningAt = now()
  await ask(Number(/:(\d+)$/.exec(readIfThere(join(directory, 'kmd.net')))![1]))
  const answeredAt = now()
  const stoppedAt = now()
  process.kill(Number(readIfThere(join(directory, 'kmd.pid'))), 'SIGTERM')
  const { startedAtMs, endedAtMs, cpuMs } = await child.ended()
  rmSync(directory, { recursive: true, force: true })
  return {
    listening_ms: listeningAt - startedAtMs,
    answered_ms: answeredAt - startedAtMs,
    stop_ms: endedAtMs - stoppedAt,
    cpu_ms: cpuMs,
  }
}

async function ask(port: number): Promise<void> {
  const connection = await Connection.open(port, { keepBody: true })
  const head = `GET /v1/wallets HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-KMD-API-Token: ${DataDirectory.apiToken}\r\n\r\n`
  const { status } = await connection.request(Buffer.from(head))
  connection.close()
  if (status !== 200) throw new Error(`/v1/wallets returned ${status}`)
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Returns the subjects of one checkout: both commands, each started as a shell would start it. */
function subjectsOf(checkout: string, label: string, directory: string, served: string): Subject[] {
  const bin = (name: string): string => join(checkout, 'packages', 'cli', 'bin', `${name}.js`)
  const environment = { ...process.env, KMD_DATA_DIR: served, KMD_PASSWORD_FILE: '/dev/null' }
  const latchkey = (...args: string[]): Subject => ({
    name: `${label} latchkey ${args.join(' ')}`,
    measure: () => measureCommand([process.execPath, bin('latchkey'), ...args], environment),
  })
  return [
    {
      name: `${label} kmd`,
      measure: () => measureDaemon([process.execPath, bin('kmd'), '-d', '{dir}'], directory),
    },
    {
      name: `${label} latchkey kmd`,
      measure: () => measureDaemon([process.execPath, bin('latchkey'), 'kmd', '-d', '{dir}'], directory),
    },
    ...[['--version'], ['--help'], ['wallet', 'list'], ['key', 'list']].map((args) => latchkey(...args)),
  ]
}

async function measureAll({ rounds, checkouts, others }: Options, directory: string): Promise<object> {
  const loadBefore = tidy(loadavg()[0]!)
  const empty = join(directory, 'empty.cjs')
  writeFileSync(empty, '')
  const served = DataDirectory.create(join(directory, 'served'), 'unsafe')
  const daemon = await Daemon.start([process.execPath, join(root, 'packages/cli/bin/kmd.js'), '-d', '{dir}'], served)
  await daemon.call('POST', '/v1/wallet', { wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password: '' })
  const subjects: Subject[] = [
    { name: 'empty node', measure: () => measureCommand([process.execPath, empty]) },
    ...subjectsOf(root, 'ours', directory, served),
    ...checkouts.flatMap((checkout) => subjectsOf(checkout, checkout, directory, served)),
    ...others.map((command) => ({ name: command[0]!, measure: () => measureDaemon(command, directory) })),
  ]
  const samples = new Map<string, Sample[]>(subjects.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const { name, measure } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      samples.get(name)!.push(await measure())
    }
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  await daemon.stop()
  return { rounds, node: process.version, load_before: loadBefore, ...report(samples) }
}

function report(samples: Map<string, Sample[]>): object {
  const empty = samples.get('empty node')!
  const rows = [...samples].map(([name, list]): [string, Sample] => {
    const shares = list.map((sample, index) => withShare(sample, empty[index]!))
    const quantities = Object.keys(shares[0]!)
    return [
      name,
      Object.fromEntries(quantities.map((one) => [one, tidy(median(shares.map((sample) => sample[one]!)))])),
    ]
  })
  return Object.fromEntries(rows)
}

function withShare(sample: Sample, empty: Sample): Sample {
  return {
    ...sample,
    share_ms: (sample['answered_ms'] ?? sample['wall_ms']!) - empty['wall_ms']!,
    share_cpu_ms: sample['cpu_ms']! - empty['cpu_ms']!,
  }
}

type Options = { rounds: number; checkouts: string[]; others: string[][] }

function parse(args: readonly string[]): Options | 'help' {
  const end = args.indexOf('--')
  const { others } = Arguments.parse(end < 0 ? [] : args.slice(end))
  const options: Options = { rounds: 21, checkouts: [], others }
  const flags = end < 0 ? [...args] : args.slice(0, end)
  for (let flag = flags.shift(); flag !== undefined; flag = flags.shift()) {
    const value = flag === '--help' ? '' : flags.shift()
    if (flag === '--help') return 'help'
    if (flag === '--rounds' && /^[1-9]\d{0,3}$/.test(value ?? '')) options.rounds = Number(value)
    else if (flag === '--checkout' && value !== undefined) options.checkouts.push(value)
    else throw new Arguments.UsageError(`cannot use ${flag} ${value ?? ''}; --help shows what there is`)
  }
  return options
}

async function main(args: readonly string[]): Promise<void> {
  const options = parse(args)
  if (options === 'help') {
    process.stdout.write(help)
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'bench-start-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  process.stdout.write(`${JSON.stringify(await measureAll(options, directory))}\n`)
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${error instanceof Arguments.UsageError ? error.message : error.stack}\n`)
  process.exit(error instanceof Arguments.UsageError ? 2 : 1)
})
