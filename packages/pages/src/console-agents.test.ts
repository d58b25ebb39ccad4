/** Tests the console's pure functions for agents and the audit log, bundled by Vite as in the page. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Network } from '@latchkey/algorand'
import { type Rules, ruleWarnings } from '@latchkey/kmd-api/rules'
import algosdk from 'algosdk'
import { build } from 'vite'

type Agent = { rules: Rules; expiresAtMs: number }
type AgentNetwork = { genesisHash: string; title: string; isMainnet: boolean; dollarAssetId: bigint | undefined }
type Draft = { limits: { id: number; amount: string; per: string; payee: string }[] } & { [field: string]: unknown }
type ReadDraft =
  | { isValid: true; rules: Rules; expiresAtMs: number }
  | { isValid: false; errors: { limits: { [id: number]: string } } & { [field: string]: unknown } }
type AuditRecord = { number: number; atMs: number; event: string; transaction: string } & { [member: string]: unknown }

type Model = {
  agentDraft: {
    blankDraft: Draft
    draftOf(agent: Agent, network: AgentNetwork): Draft
    readDraft(draft: Draft, context: object): ReadDraft
  }
  agentPresets: { presets(network: AgentNetwork): { id: string; draft: Draft }[] }
  agentWords: {
    ruleGroups(agent: Agent, source: object): { title: string; lines: string[] }[]
  }
  dailySpending: {
    dailySpending(
      records: AuditRecord[],
      nowMs: number,
    ): { assetId: string; total: bigint; days: { amount: bigint }[] }[]
  }
  auditExport: { exportText(records: AuditRecord[], format: 'jsonl' | 'csv'): string }
}

const names = ['agentDraft', 'agentPresets', 'agentWords', 'dailySpending', 'auditExport'] as const
const directory = mkdtempSync(join(tmpdir(), 'console-agents-'))
const model = {} as { -readonly [name in keyof Model]: Model[name] }
const payee = algosdk.generateAccount().addr.toString()
const other = algosdk.generateAccount().addr.toString()
const nowMs = Date.parse('2026-05-04T12:00:00')
const mainnet: AgentNetwork = {
  ...{ genesisHash: Network.mainnet.genesisHash, title: 'MainNet', isMainnet: true, dollarAssetId: 31566704n },
}
const devnet: AgentNetwork = {
  ...{ genesisHash: Buffer.alloc(32, 7).toString('base64'), title: 'x', isMainnet: false, dollarAssetId: 5n },
}

before(async () => {
  const folder = fileURLToPath(new URL('../console/model/', import.meta.url))
  const entry = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.ts`)]))
  await build({
    configFile: false,
    logLevel: 'warn',
    build: { outDir: directory, lib: { entry, formats: ['es'], fileName: (_format, name) => `${name}.mjs` } },
  })
  for (const name of names) model[name] = await import(pathToFileURL(join(directory, `${name}.mjs`)).href)
})
after(() => rmSync(directory, { recursive: true }))

function read(change: object, network = mainnet, agent?: Agent): ReadDraft {
  const known = [{ address: payee, label: 'Tea shop', walletName: '', walletId: '' }]
  return model.agentDraft.readDraft({ ...model.agentDraft.blankDraft, ...change }, { network, known, nowMs, agent })
}

function rulesOf(change: object, network = mainnet): Rules {
  const found = read(change, network)
  assert.ok(found.isValid)
  return found.rules
}

const row = (id: number, amount: string, per: string, to = '') => ({ id, amount, per, payee: to })
const fiveADay = [row(1, '$5', 'day')]

test('every preset is valid, in dollars and on a network without them', () => {
  for (const network of [mainnet, devnet, { ...devnet, dollarAssetId: undefined }]) {
    for (const { id, draft } of model.agentPresets.presets(network)) {
      const found = read({ ...draft, allow: payee }, network)
      // The owner has to fill in the custom preset.
      assert.equal(found.isValid, id !== 'custom', `${id}: ${JSON.stringify(found, (_, value) => `${value}`)}`)
      if (found.isValid) assert.deepEqual(ruleWarnings(found.rules), [], id)
    }
  }
})

test('a draft converts to exactly these rules and back', () => {
  const entered = {
    limits: [
      row(1, '$5', 'day'),
      row(2, '$0.50', 'payment'),
      row(3, '20 payments', 'hour'),
      row(4, '2 ALGO', 'total', 'tea shop'),
    ],
    ...{ payees: 'listed', allow: `tea shop\n${other}\n${payee}`, deny: '', askAbove: '$1,000.25, 1 ALGO' },
    ...{ asksUnknownPayee: true, optIns: '12, 13', maxFee: '0.002', end: '7' },
  }
  const found = read(entered)
  assert.ok(found.isValid)
  const { rules, expiresAtMs } = found
  const network = mainnet.genesisHash
  assert.deepEqual(rules.limits, [
    { per: 'day', network, type: 'amount', assetId: 31566704n, amount: 5_000_000n },
    { per: 'payment', network, type: 'amount', assetId: 31566704n, amount: 500_000n },
    { per: 'hour', network, type: 'count', count: 20 },
    { per: 'total', network, type: 'amount', assetId: 0n, amount: 2_000_000n, payee },
  ])
  assert.deepEqual(rules.payees, { allow: [payee, other], deny: [] })
  assert.deepEqual(rules.ask.above, [
    { network, assetId: 31566704n, amount: 1_000_250_000n },
    { network, assetId: 0n, amount: 1_000_000n },
  ])
  assert.deepEqual([rules.ask.unknownPayee, rules.maxFeeMicroAlgos, rules.dollars], [true, 2_000n, []])
  assert.equal(expiresAtMs, nowMs + 7 * 86_400_000)
  // Drafts with and without a change.
  const agent = { rules, expiresAtMs }
  const again = read(model.agentDraft.draftOf(agent, mainnet), mainnet, agent)
  assert.deepEqual(again, { isValid: true, rules, expiresAtMs })
})

test('rules of another network are kept, and a devnet has its own dollar asset', () => {
  const rules = rulesOf({ limits: fiveADay }, devnet)
  assert.deepEqual(rules.dollars, [{ network: devnet.genesisHash, id: 5n }])
  const changed = read({ limits: [row(1, '$1', 'day')] }, mainnet, { rules, expiresAtMs: 0 })
  assert.ok(changed.isValid)
  assert.deepEqual(changed.rules.networks, [devnet.genesisHash, mainnet.genesisHash])
  assert.deepEqual(changed.rules.limits[0], rules.limits[0])
  assert.deepEqual(changed.rules.dollars, rules.dollars)
  assert.equal(changed.rules.limits.length, 2)
})

test('errors are shown at their field, and no value is misread', () => {
  const errorsOf = (change: object): { limits: { [id: number]: string } } & { [field: string]: unknown } => {
    const found = read(change)
    assert.ok(!found.isValid)
    return found.errors
  }
  assert.match(String(errorsOf({})['noLimit']), /at least one limit/)
  assert.match(String(errorsOf({ limits: [row(1, '20 payments', 'day')] })['noLimit']), /for an amount/)
  assert.match(errorsOf({ limits: [row(1, '5', 'day')] }).limits[1]!, /is not a limit/)
  assert.match(errorsOf({ limits: [row(1, '$5/week', 'day')] }).limits[1]!, /is not a number/)
  assert.match(errorsOf({ limits: [row(1, '$5', 'payment')] }).limits[1]!, /does not limit total spending/)
  assert.match(errorsOf({ limits: [row(1, '20 payments', 'payment')] }).limits[1]!, /needs a period/)
  assert.match(errorsOf({ limits: [...fiveADay, row(2, '$6', 'day')] }).limits[2]!, /already exists/)
  assert.match(errorsOf({ limits: [row(1, '$5', 'day', 'unknown')] }).limits[1]!, /neither an address/)
  const wrong = { allow: 'unknown', deny: 'x', askAbove: '5', maxFee: '11', optIns: '0', applications: 'a' }
  const errors = errorsOf({ limits: fiveADay, payees: 'listed', end: 'date', date: '2026-05-03', ...wrong })
  for (const field of [...Object.keys(wrong), 'date']) assert.equal(typeof errors[field], 'string', field)
})

test('rules are described in words', () => {
  const rules = rulesOf({
    limits: [...fiveADay, row(2, '1 payment', 'hour', payee)],
    payees: 'listed',
    allow: payee,
    deny: other,
  })
  const words = model.agentWords.ruleGroups({ rules, expiresAtMs: 0 }, { node: undefined })
  const lines = words.flatMap((group) => group.lines)
  for (const line of [
    'At most $5 a day.',
    `At most 1 payment an hour to ${payee}.`,
    `${payee}.`,
    `Never ${other}.`,
    'Never: anything the rules do not allow is refused.',
    'Signs for MainNet only.',
    'Has no end date.',
  ]) {
    assert.ok(lines.includes(line), `${line} in ${lines.join('|')}`)
  }
  assert.match(ruleWarnings(rules).join(), /no limit in ALGO/)
})

function record(number: number, event: string, transaction: string, detail: object, atMs = nowMs): AuditRecord {
  const actor = { type: 'agent', id: 'a', name: '=cmd|"x"' }
  const text = JSON.stringify({ actor, detail, event, transaction })
  const ids = { agent: 'a', wallet: 'w', address: '', walletName: '' }
  return { number, atMs, event, transaction, actor, ...ids, detail, previous: '00', hash: 'ff', text }
}

test('daily spending counts a transaction once, with its fee, and omits released amounts', () => {
  const paid = (amount: string) => ({ kind: 'payment', network: 'n', asset: '5', amount, fee: '1000' })
  const records = [
    record(6, 'reservation_returned', 'C', {}),
    record(5, 'transaction_signed', 'C', paid('100')),
    record(4, 'transaction_signed', 'A', paid('7')),
    record(3, 'signature_refused', 'D', paid('50')),
    record(2, 'transaction_signed', 'B', paid('3'), nowMs - 86_400_000),
    record(1, 'transaction_signed', 'A', paid('7')),
  ]
  const [asset, algos] = model.dailySpending.dailySpending(records, nowMs)
  assert.deepEqual([asset!.assetId, asset!.total, algos!.assetId, algos!.total], ['5', 10n, '0', 2_000n])
  assert.deepEqual(
    asset!.days.slice(-2).map(({ amount }) => amount),
    [3n, 7n],
  )
})

test('an export is oldest first, and no cell is a formula', () => {
  const records = [record(2, 'agent_paused', '', {}), record(1, 'agent_created', '', { note: 'a,"b"\nc' })]
  const lines = model.auditExport.exportText(records, 'jsonl').trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { number: number }).number),
    [1, 2],
  )
  const csv = model.auditExport.exportText([{ ...records[0]!, address: '=1+1' }], 'csv')
  assert.match(csv, /^number,time,event,actor,wallet,address,/)
  assert.match(csv, /,"'=1\+1",/)
})
