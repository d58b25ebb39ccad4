/**
 * Benchmarks the groups that take the devnet longest: each spends all of its budget on one instruction. A group blocks the
 * devnet until it ends, so none may take much longer than a second.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { Address, Bytes, Ed25519, Group, Hash, Msgpack, Program, Submission, Transaction } from '@latchkey/algorand'
import { createDevnetHandler, type DevnetHandler } from '@latchkey/devnet'
import { type Case, cases } from './programs/cases.js'
import { median, tidy } from './support/Statistics.js'

const help = `Usage:
  npm run bench:programs -- [--only PART] [--rounds N] [--table]

Submits groups of 16 transactions to a devnet in this process. Logic signatures have a budget of 320,000 in all;
application calls have 190,400, of which inner calls add most. Each group spends its budget on one instruction:
  budget      the cost that the group spent
  submit_ms   the median time of a submission, during which the devnet answers nothing else
  cpu_ms      the CPU time of that, which other load on the machine does not change
  us_per_unit the CPU time for each unit of the cost
  all_ms      that, for the largest budget of a group: logic signatures and application calls together (510,400) for
              instructions that both can have

  --only PART only instructions whose name contains this
  --rounds N  submissions of each group (3)
  --table     prints a table in Markdown instead of JSON
`

const groupSize = 16
const signatureBudget = 16 * 20_000
const applicationBudget = 16 * 700 + 256 * 700
const feeMicroAlgos = 1_000_000n

type Row = {
  readonly name: string
  readonly mode: Case['mode']
  readonly budget: number
  readonly submit_ms: number
  readonly cpu_ms: number
  readonly us_per_unit: number
  readonly all_ms: number
}

type Time = { readonly ms: number; readonly cpuMs: number }

type Txn = Transaction.Transaction
type Member = { readonly txn: Txn; readonly program?: Uint8Array }

class Target {
  readonly #devnet: DevnetHandler
  readonly #payer = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(9))
  #notes = 0

  private constructor(devnet: DevnetHandler) {
    this.#devnet = devnet
  }

  static async start(): Promise<Target> {
    const target = new Target(await createDevnetHandler())
    target.fund(target.#payer.publicKey)
    return target
  }

  fund(account: Uint8Array): void {
    this.#devnet.fund(Address.encode(account), { microAlgos: 1_000_000_000n })
  }

  get payer(): Uint8Array {
    return this.#payer.publicKey
  }

  txn(type: string, sender: Uint8Array, fields: Partial<Txn> = {}): Txn {
    const gh = Buffer.from(this.#devnet.genesisHash, 'base64')
    const note = Buffer.from(`${this.#notes++}`)
    return { type, snd: sender, fee: feeMicroAlgos, lv: 1_000n, gh, note, ...fields }
  }

  /** Signs members by their programs, or by the payer. */
  #sign(members: readonly Member[]): Uint8Array {
    const transactions = members.map(({ txn }) => txn)
    const grouped = transactions.length === 1 ? transactions : Group.assign(transactions)
    return Bytes.concat(
      grouped.map((txn, index) => {
        const { program } = members[index]!
        if (program !== undefined) return Submission.encode({ lsig: { l: program }, txn })
        return Submission.encode({
          sig: Ed25519.sign(Transaction.bytesToSign(Transaction.encode(txn)), this.#payer.secretKey),
          txn,
        })
      }),
    )
  }

  /** Assembles a program. */
  async compile(source: string): Promise<Uint8Array> {
    const { result } = await this.#post('/v2/teal/compile', Buffer.from(`#pragma version 13\n${source}`))
    return Buffer.from(result as string, 'base64')
  }

  async #post(path: string, body: Uint8Array): Promise<{ [name: string]: unknown }> {
    const response = await this.#devnet.fetch(
      new Request(`http://127.0.0.1${path}`, { method: 'POST', body: Buffer.from(body) }),
    )
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 1_000)}`)
    return JSON.parse(text) as { [name: string]: unknown }
  }

  async submit(members: readonly Member[]): Promise<Time> {
    const body = this.#sign(members)
    const startedAt = performance.now()
    const before = process.cpuUsage()
    await this.#post('/v2/transactions', body)
    const { user, system } = process.cpuUsage(before)
    return { ms: performance.now() - startedAt, cpuMs: (user + system) / 1_000 }
  }

  /** Returns the budget that a group spends. */
  async budgetOf(members: readonly Member[]): Promise<number> {
    const writer = new Msgpack.Writer().mapHeader(1).str('txn-groups').arrayHeader(1)
    writer.mapHeader(1).str('txns').arrayHeader(members.length).raw(this.#sign(members))
    const result = await this.#post('/v2/transactions/simulate', writer.bytes())
    const [group] = result['txn-groups'] as [SimulatedGroup]
    if (group['failure-message'] !== undefined) throw new Error(group['failure-message'])
    const logic = group['txn-results'].reduce((sum, one) => sum + (one['logic-sig-budget-consumed'] ?? 0), 0)
    return logic + (group['app-budget-consumed'] ?? 0)
  }

  /** Creates an application, and returns its id. */
  async deploy(source: string): Promise<bigint> {
    const apap = await this.compile(`txn ApplicationID; bnz called; int 1; return; called:\n${source}`)
    const apsu = await this.compile('int 1')
    const txn = this.txn('appl', this.payer, { apap, apsu, apep: 3, apgs: { nbs: 4n } })
    const { txId } = await this.#post('/v2/transactions', this.#sign([{ txn }]))
    const response = await this.#devnet.fetch(new Request(`http://127.0.0.1/v2/transactions/pending/${txId}`))
    const { 'application-index': id } = (await response.json()) as { 'application-index': number }
    this.fund(accountOf(id))
    return BigInt(id)
  }
}

type SimulatedGroup = {
  'failure-message'?: string
  'app-budget-consumed'?: number
  'txn-results': { 'logic-sig-budget-consumed'?: number }[]
}

function accountOf(appId: number): Uint8Array {
  const bytes = Buffer.alloc(13, 'appID')
  bytes.writeBigUInt64BE(BigInt(appId), 5)
  return Hash.sha512_256(bytes)
}

/** The first program spends the budget that the group shares; the others end at once. */
function sourceOf({ setup, body, repeat = 1, reserve }: Case, before = ''): string {
  return `
txn GroupIndex; bnz end
${before}
${setup}
loop:
global OpcodeBudget; int ${reserve + 300}; >; bz end
${new Array(repeat).fill(body).join('\n')}
b loop
end: int 1; return`
}

/** Adds 700 to the budget for each of 240 inner calls; 16 are left to the program. Application 1 of the call accepts. */
const innerCalls = `
int 15
inner:
itxn_begin
${new Array(16)
  .fill('int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; int 0; itxn_field Fee')
  .join('\nitxn_next\n')}
itxn_submit
int 1; -; dup; bnz inner
pop`

async function groupOf(target: Target, one: Case): Promise<() => Member[]> {
  if (one.mode === 'signature') {
    const program = await target.compile(sourceOf(one))
    const account = Program.address(program)
    target.fund(account)
    return () => Array.from({ length: groupSize }, () => ({ txn: target.txn('pay', account), program }))
  }
  const called = await target.deploy('int 1')
  const apid = await target.deploy(sourceOf(one, innerCalls))
  const apbx = [{ n: Buffer.from('b') }, ...new Array<object>(6).fill({})]
  const fields = { apid, apfa: [called], apbx }
  return () => Array.from({ length: groupSize }, () => ({ txn: target.txn('appl', target.payer, fields) }))
}

async function measure(one: Case, rounds: number): Promise<Row> {
  const target = await Target.start()
  const group = await groupOf(target, one)
  const budget = await target.budgetOf(group())
  const times: Time[] = []
  for (let round = 0; round < rounds; round++) times.push(await target.submit(group()))
  const cpuMs = median(times.map((time) => time.cpuMs))
  const most = applicationBudget + (one.mode === 'signature' ? signatureBudget : 0)
  return {
    name: one.name,
    mode: one.mode,
    budget,
    submit_ms: tidy(median(times.map(({ ms }) => ms))),
    cpu_ms: tidy(cpuMs),
    us_per_unit: tidy((1_000 * cpuMs) / budget),
    all_ms: tidy((cpuMs * most) / budget),
  }
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, budget, submit_ms, cpu_ms, us_per_unit, all_ms }) =>
      `| ${name.replace('|', '\\|')} | ${budget} | ${submit_ms} | ${cpu_ms} | ${us_per_unit} | ${all_ms} |`,
  )
  return [
    '| instruction | budget | submit_ms | cpu_ms | us_per_unit | all_ms |',
    '|---|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n')
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      rounds: { type: 'string', default: '3' },
      table: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const load = tidy(loadavg()[0]!)
  const rows: Row[] = []
  for (const one of cases.filter(({ name }) => name.includes(values.only))) {
    process.stderr.write(`${one.name}\n`)
    rows.push(await measure(one, Number(values.rounds)))
  }
  rows.sort((a, b) => b.all_ms - a.all_ms)
  if (values.table) process.stdout.write(table(rows))
  else
    process.stdout.write(
      `${JSON.stringify({ name: 'programs', nodeVersion: process.version, load_before: load, rows })}\n`,
    )
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
