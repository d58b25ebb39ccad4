/** Counts the msgpack values that each party reads and writes: for a signature, a submission and a paid request. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Kmd } from '@latchkey/kmd-client'
import type { Counts } from './decoding/MsgpackCounts.js'
import { Algod } from './devnet/Algod.js'
import type { Facts } from './devnet/Process.js'
import { Party, type PartyOptions, roles } from './paid/Party.js'
import * as DataDirectory from './support/DataDirectory.js'
import { masterDerivationKey, payments } from './support/Payments.js'
import { tidy } from './support/Statistics.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

const help = `Usage:
  npm run bench:decoding -- [--count N] [--checkout DIR]

Counts the msgpack values that are read and written, on average over N operations (20):
  signature     by the key daemon, with the owner's token
  submit        of one signed payment to the devnet
  paid_request  402, payment, verify, handler, settle, 200; by party and in all
A value is a number, text, byte string, or the header of a map or list; names of map entries count too. Passes that only
recognize canonical bytes read no values. Prints one line of JSON.

  --count     how many of each operation
  --checkout  another built checkout of this repository, for instance of the state before a change
  --help      this text
`

type Figures = { reads: number; writes: number }

/** The party's operations during the work, divided by `count`. */
async function measure(parties: readonly Party[], count: number, work: () => Promise<unknown>): Promise<Figures[]> {
  const before = await Promise.all(parties.map((party) => party.msgpack()))
  await work()
  const after = await Promise.all(parties.map((party) => party.msgpack()))
  return after.map((counts, index) => perOperation(before[index]!, counts, count))
}

function perOperation(before: Counts, after: Counts, count: number): Figures {
  return { reads: tidy((after.reads - before.reads) / count), writes: tidy((after.writes - before.writes) / count) }
}

type Setting = { readonly checkout: string; readonly directory: string; readonly count: number }

async function signature({ checkout, directory, count }: Setting): Promise<Figures> {
  const dataDir = DataDirectory.create(join(directory, 'daemon'), 'unsafe')
  const daemon = await Party.start({ role: 'daemon', checkout, directory: dataDir, isCounted: true })
  const kmd = await Kmd.connect({ address: daemon.ready as string, token: DataDirectory.apiToken })
  await kmd.wallets.create({ name: 'signs', password: '', masterDerivationKey })
  const wallet = await kmd.unlock({ name: 'signs', password: () => '' })
  const transactions = payments(count)
  for (const _ of transactions) await wallet.generateKey()
  const [figures] = await measure([daemon], count, async () => {
    for (const transaction of transactions) await wallet.signTransaction(transaction)
  })
  await daemon.stop()
  return figures!
}

async function submit(devnet: Party, count: number): Promise<Figures> {
  const { url, dispenser } = devnet.ready as Facts
  const algod = new Algod(Number(new URL(url).port), '')
  await algod.fundPayers(dispenser.mnemonic)
  const signed = await algod.signedPayments(count)
  const [figures] = await measure([devnet], count, async () => {
    for (const one of signed) {
      if ((await algod.submit(one)) !== 200) throw new Error('a payment was refused')
    }
  })
  return figures!
}

/** Enough that caches and connections are in their usual state. */
const warmUpCount = 5

async function paidRequest({ checkout, directory, count }: Setting, devnet: Party): Promise<object> {
  const open = (role: PartyOptions['role'], url?: string): Promise<Party> =>
    Party.start({ role, checkout, directory, url, devnet: devnet.ready as Facts, isCounted: true })
  const facilitator = await open('facilitator')
  const seller = await open('seller', facilitator.ready as string)
  const buyer = await open('buyer', seller.ready as string)
  const parties = { buyer, seller, facilitator, devnet }
  await buyer.buy(warmUpCount, 1)
  const figures = await measure(
    roles.map((role) => parties[role]),
    count,
    () => buyer.buy(count, 1),
  )
  for (const party of [buyer, seller, facilitator]) await party.stop()
  const all = {
    reads: tidy(figures.reduce((sum, { reads }) => sum + reads, 0)),
    writes: tidy(figures.reduce((sum, { writes }) => sum + writes, 0)),
  }
  return { ...Object.fromEntries(roles.map((role, index) => [role, figures[index]])), all }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '20' },
      checkout: { type: 'string', default: root },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'bench-decoding-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const setting = { checkout: resolve(values.checkout), directory, count: Number(values.count) }
  const devnet = await Party.start({ ...setting, role: 'devnet', isCounted: true })
  const result = {
    name: 'decoding',
    count: setting.count,
    signature: await signature(setting),
    submit: await submit(devnet, setting.count),
    paid_request: await paidRequest(setting, devnet),
  }
  await devnet.stop()
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
