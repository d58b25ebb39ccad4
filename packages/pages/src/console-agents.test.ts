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
type Quantity = { amount: string; unit: string; assetId: string }
type Draft = { limits: (Quantity & { id: number; per: string; payee: string })[] } & { [field: string]: unknown }
type ReadDraft =
  | { isValid: true; rules: Rules; expiresAtMs: number }
  | { isValid: false; errors: { limits: { [id: number]: string } } & { [field: string]: unknown } }
type AuditRecord = { number: number; atMs: number; event: string; transaction: string } & { [member: string]: unknown }

type Model = {
  agentDraft: {
    blankDraft(network: AgentNetwork): Draft
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
      network?: string,
    ): {
      network: string
      assetId: string
      total: bigint
      days: { amount: bigint }[]
      payees: { address: string; amount: bigint; count: number }[]
    }[]
  }
  quantityInput: { unitNames(network: AgentNetwork, options: { hasCount: boolean }): [string, string][] }
  tokenFile: {
    tokenFileName(agentName: string): string
    saveCommand(agentName: string): string
    installCommand(command: readonly string[], server: object): string
    mcpSettings(command: readonly string[], server: object): string
  }
  auditWords: { summary(record: AuditRecord, source: object): string }
  auditExport: { exportText(records: AuditRecord[], format: 'jsonl' | 'csv'): string }
}

const names = [
  ...[
    'agentDraft',
    'agentPresets',
    'agentWords',
    'dailySpending',
    'quantityInput',
    'tokenFile',
    'auditExport',
    'auditWords',
  ],
] as (keyof Model)[]
const directory = mkdtempSync(join(tmpdir(), 'console-agents-'))
const model = {} as Model
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
  for (const name of names) {
    Object.assign(model, { [name]: await import(pathToFileURL(join(directory, `${name}.mjs`)).href) })
  }
})
after(() => rmSync(directory, { recursive: true }))

function read(change: object, network = mainnet, agent?: Agent): ReadDraft {
  const known = [{ address: payee, label: 'Tea shop', walletName: '', walletId: '' }]
  return model.agentDraft.readDraft(
    { ...model.agentDraft.blankDraft(network), ...change },
    { network, known, nowMs, agent },
  )
}

function rulesOf(change: object, network = mainnet): Rules {
  const found = read(change, network)
  assert.ok(found.isValid)
  return found.rules
}

type Unit = 'dollars' | 'algo' | 'payments' | 'asset'
const quantity = (amount: string, unit: Unit, assetId = '') => ({ amount, unit, assetId })
const row = (id: number, amount: string, unit: Unit, per: string, to = '') => ({
  ...{ id, ...quantity(amount, unit), per, payee: to },
})
const fiveADay = [row(1, '5', 'dollars', 'day')]

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
      row(1, '5', 'dollars', 'day'),
      row(2, '0.50', 'dollars', 'payment'),
      row(3, '20', 'payments', 'hour'),
      row(4, '2', 'algo', 'total', 'tea shop'),
      { ...row(5, '10', 'asset', 'week'), assetId: '123' },
    ],
    askAbove: [
      { id: 1, ...quantity('1,000.25', 'dollars') },
      { id: 2, ...quantity('1', 'algo') },
      { id: 3, ...quantity(' ', 'algo') },
    ],
    ...{ payees: 'listed', allow: `tea shop\n${other}\n${payee}`, deny: '' },
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
    { per: 'week', network, type: 'amount', assetId: 123n, amount: 10n },
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
  const changed = read({ limits: [row(1, '1', 'dollars', 'day')] }, mainnet, { rules, expiresAtMs: 0 })
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
  const limitError = (...fields: Parameters<typeof row>): string => errorsOf({ limits: [row(...fields)] }).limits[1]!
  assert.match(String(errorsOf({ limits: [row(1, '20', 'payments', 'day')] })['noLimit']), /for an amount/)
  assert.match(limitError(1, 'five', 'dollars', 'day'), /a number with at most 6 decimals, such as 0\.50/)
  assert.match(limitError(1, '5/week', 'dollars', 'day'), /a number/)
  assert.match(limitError(1, '1.2345678', 'algo', 'day'), /at most 6 decimals/)
  assert.match(limitError(1, '$5', 'algo', 'day'), /a number/)
  assert.match(limitError(1, '5', 'asset', 'day'), /id of the asset/)
  assert.match(limitError(1, '1.5', 'payments', 'day'), /whole number of payments/)
  assert.match(limitError(1, '0', 'payments', 'day'), /at least 1/)
  assert.match(limitError(1, '5', 'dollars', 'payment'), /does not limit total spending/)
  assert.match(limitError(1, '20', 'payments', 'payment'), /needs a period/)
  assert.match(errorsOf({ limits: [...fiveADay, row(2, '6', 'dollars', 'day')] }).limits[2]!, /already exists/)
  assert.match(limitError(1, '5', 'dollars', 'day', 'unknown'), /neither an address/)
  // An amount with the selected unit is read.
  for (const amount of ['5', '$5', '5 USDC', ' 5.00 ', '5 dollars']) {
    const [limit] = rulesOf({ limits: [row(1, amount, 'dollars', 'day')] }).limits
    assert.ok(limit?.type === 'amount' && limit.amount === 5_000_000n, amount)
  }
  const wrong = { allow: 'unknown', deny: 'x', maxFee: '11', optIns: '0', applications: 'a' }
  const askAbove = [
    { id: 1, ...quantity('5', 'algo') },
    { id: 2, ...quantity('6', 'algo') },
    { id: 3, ...quantity('much', 'dollars') },
  ]
  const errors = errorsOf({ limits: fiveADay, payees: 'listed', end: 'date', date: '2026-05-03', askAbove, ...wrong })
  for (const field of [...Object.keys(wrong), 'date']) assert.equal(typeof errors[field], 'string', field)
  assert.deepEqual(Object.keys(errors['askAbove'] as object), ['2', '3'])
})

test('the units of a network without dollars have none, and thresholds count no payments', () => {
  const units = (network: AgentNetwork, hasCount: boolean): string[] =>
    model.quantityInput.unitNames(network, { hasCount }).map(([unit]) => unit)
  assert.deepEqual(units(mainnet, true), ['dollars', 'algo', 'payments', 'asset'])
  assert.deepEqual(units({ ...devnet, dollarAssetId: undefined }, false), ['algo', 'asset'])
})

test('the token file has a safe name, and settings name the command by its path', () => {
  const { tokenFileName, saveCommand, installCommand, mcpSettings } = model.tokenFile
  for (const [name, file] of [
    ['Shopper', 'shopper.token'],
    ['../../etc/passwd', 'etc-passwd.token'],
    ['$(rm -rf ~) `x`', 'rm-rf-x.token'],
    ['Käufer', 'ka-ufer.token'],
    ['日本', 'agent.token'],
  ]) {
    assert.equal(tokenFileName(name!), file)
  }
  assert.match(saveCommand('Shopper'), /install -m 600 ~\/Downloads\/shopper\.token ~\/\.latchkey\/shopper\.token/)
  const server = { agentName: 'Shopper', host: '127.0.0.1:7833' }
  const command = ['/usr/bin/node', "/home/me/it's here/latchkey.js"]
  assert.equal(
    installCommand(command, server),
    "/usr/bin/node '/home/me/it'\\''s here/latchkey.js' mcp install --token-file ~/.latchkey/shopper.token --daemon 127.0.0.1:7833",
  )
  assert.match(installCommand([], server), /^latchkey mcp install /)
  assert.deepEqual(JSON.parse(mcpSettings(command, server)), {
    mcpServers: {
      latchkey: {
        command: command[0],
        args: [command[1], 'mcp', '--token-file', '/path/to/shopper.token', '--daemon', '127.0.0.1:7833'],
      },
    },
  })
})

test('rules are described in words', () => {
  const rules = rulesOf({
    limits: [...fiveADay, row(2, '1', 'payments', 'hour', payee)],
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

test('daily spending has the charge of a price by usage, or its maximum until the charge is known', () => {
  const upTo = { kind: 'payment', network: 'n', asset: '5', amount: '100', fee: '0', payee: 'shop', scheme: 'upto' }
  const records = [
    record(6, 'reservation_returned', 'upto-C', {}),
    record(5, 'authorization_signed', 'upto-C', upTo),
    record(4, 'authorization_settled', 'upto-A', { amount: '7', maximum: '100', returned: '93' }),
    record(3, 'authorization_signed', 'upto-B', upTo),
    record(2, 'authorization_settled', 'upto-0', { amount: '0', maximum: '100', returned: '100' }),
    record(1, 'authorization_signed', 'upto-A', upTo),
    record(0, 'authorization_signed', 'upto-0', upTo),
  ]
  const [asset] = model.dailySpending.dailySpending(records, nowMs)
  assert.equal(asset!.total, 107n)
})

test('spending by payee has payments of agents and of the owner, without fees and payments to oneself', () => {
  const agentPaid = (amount: string, to: string) => ({ kind: 'payment', network: 'n', asset: '5', amount, payee: to })
  const ownerPaid = (amount: string, receiver: string) => ({
    ...{ type: 'axfer', sender: 'me', receiver, amount, asset_id: '5', fee_micro_algos: '1000' },
  })
  const records = [
    record(5, 'transaction_signed', 'E', ownerPaid('9', 'me')),
    record(4, 'multisig_signed', 'D', ownerPaid('2', 'shop')),
    record(3, 'transaction_signed', 'C', ownerPaid('4', 'tea')),
    record(2, 'transaction_signed', 'B', agentPaid('1', 'shop')),
    record(1, 'transaction_signed', 'A', agentPaid('1', 'shop')),
  ]
  const [asset, algos] = model.dailySpending.dailySpending(records, nowMs, 'n')
  assert.deepEqual(asset!.payees, [
    { address: 'shop', amount: 4n, count: 3 },
    { address: 'tea', amount: 4n, count: 1 },
  ])
  assert.deepEqual([asset!.network, asset!.total, algos!.total, algos!.payees], ['n', 8n, 3_000n, []])
})

test('the summary of an approval names the amount before the reason', () => {
  const paid = { network: Network.mainnet.genesisHash, asset: '31566704', amount: '1500000', payee }
  for (const event of ['approval_requested', 'approval_denied']) {
    const asked = record(1, event, 'A', { ...paid, reason: 'A payment above $1 needs the owner’s approval.' })
    assert.equal(
      model.auditWords.summary(asked, { node: undefined }),
      `$1.50 to ${payee}. A payment above $1 needs the owner’s approval.`,
    )
  }
  // Records of earlier versions have no amount.
  assert.equal(model.auditWords.summary(record(1, 'approval_denied', 'A', { reason: 'Why' }), {}), 'Why')
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
