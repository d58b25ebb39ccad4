import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenApi, type Wire, wires } from '@latchkey/kmd-api'
import { createApp, quietNode } from '../testing/TestApp.test.helper.js'

type Schema = { type?: string; format?: string; $ref?: string; items?: Schema; properties?: Record<string, Schema> }
type Operation = {
  operationId: string
  security?: unknown[]
  parameters?: { in: string; schema: Schema }[]
  responses: { [status: string]: { schema: Schema } }
}
type Document = {
  paths: { [path: string]: { [method: string]: Operation } }
  definitions: { [name: string]: Schema }
}

/** The API as documented: types are `bytes` for arrays of integers, `base64` for text that holds bytes. */
const documented: { [operation: string]: [route: string, request: string, response: string] } = {
  CreateWallet: [
    'post /v1/wallet',
    'master_derivation_key:bytes wallet_driver_name:string wallet_name:string wallet_password:string',
    'wallet:APIV1Wallet',
  ],
  ListWallets: ['get /v1/wallets', '', 'wallets:list(APIV1Wallet)'],
  RenameWallet: [
    'post /v1/wallet/rename',
    'wallet_id:string wallet_name:string wallet_password:string',
    'wallet:APIV1Wallet',
  ],
  InitWalletHandleToken: [
    'post /v1/wallet/init',
    'wallet_id:string wallet_password:string',
    'wallet_handle_token:string',
  ],
  GetWalletInfo: ['post /v1/wallet/info', 'wallet_handle_token:string', 'wallet_handle:APIV1WalletHandle'],
  RenewWalletHandleToken: ['post /v1/wallet/renew', 'wallet_handle_token:string', 'wallet_handle:APIV1WalletHandle'],
  ReleaseWalletHandleToken: ['post /v1/wallet/release', 'wallet_handle_token:string', ''],
  GenerateKey: ['post /v1/key', 'display_mnemonic:boolean wallet_handle_token:string', 'address:string'],
  ImportKey: ['post /v1/key/import', 'private_key:bytes wallet_handle_token:string', 'address:string'],
  ExportKey: [
    'post /v1/key/export',
    'address:string wallet_handle_token:string wallet_password:string',
    'private_key:bytes',
  ],
  DeleteKey: ['delete /v1/key', 'address:string wallet_handle_token:string wallet_password:string', ''],
  ListKeysInWallet: ['post /v1/key/list', 'wallet_handle_token:string', 'addresses:list(string)'],
  ExportMasterKey: [
    'post /v1/master-key/export',
    'wallet_handle_token:string wallet_password:string',
    'master_derivation_key:bytes',
  ],
  ImportMultisig: [
    'post /v1/multisig/import',
    'multisig_version:uint8 pks:list(bytes) threshold:uint8 wallet_handle_token:string',
    'address:string',
  ],
  ExportMultisig: [
    'post /v1/multisig/export',
    'address:string wallet_handle_token:string',
    'multisig_version:uint8 pks:list(bytes) threshold:uint8',
  ],
  DeleteMultisig: ['delete /v1/multisig', 'address:string wallet_handle_token:string wallet_password:string', ''],
  ListMultisig: ['post /v1/multisig/list', 'wallet_handle_token:string', 'addresses:list(string)'],
  SignTransaction: [
    'post /v1/transaction/sign',
    'public_key:bytes transaction:base64 wallet_handle_token:string wallet_password:string',
    'signed_transaction:base64',
  ],
  SignMultisigTransaction: [
    'post /v1/multisig/sign',
    'partial_multisig:object public_key:bytes signer:bytes transaction:base64 wallet_handle_token:string wallet_password:string',
    'multisig:base64',
  ],
  SignProgram: [
    'post /v1/program/sign',
    'address:string data:base64 wallet_handle_token:string wallet_password:string',
    'sig:base64',
  ],
  SignMultisigProgram: [
    'post /v1/multisig/signprogram',
    'address:string data:base64 partial_multisig:object public_key:bytes use_legacy_msig:boolean wallet_handle_token:string wallet_password:string',
    'multisig:base64',
  ],
  GetVersion: ['get /versions', '', 'versions:list(string)'],
}

const ours: typeof documented = {
  GetHealth: [
    'get /latchkey/v1/health',
    '',
    'command:list(string) lost_log_lines:int64 open_handles:int64 same_user_agents:list(string) status:string suspended_agents:list(string) uptime_seconds:int64 version:string wallet_problems:list(object) wallets:int64',
  ],
  ChangeWalletPassword: [
    'post /latchkey/v1/wallet/password',
    'new_wallet_password:string wallet_id:string wallet_password:string',
    '',
  ],
  DeleteWallet: ['post /latchkey/v1/wallet/delete', 'wallet_id:string wallet_password:string', 'moved_to:string'],
  SignReceipt: [
    'post /latchkey/v1/receipt/sign',
    'address:string network:string payer:string resource_url:string transaction_id:string wallet_handle_token:string wallet_password:string',
    'receipt:string',
  ],
  SignOffer: [
    'post /latchkey/v1/offer/sign',
    'address:string amount:string asset:string network:string pay_to:string resource_url:string scheme:string valid_until:int64 wallet_handle_token:string wallet_password:string',
    'offer:string',
  ],
  CreateConsoleLink: ['post /latchkey/v1/console/link', '', 'expires_seconds:int64 path:string'],
  OpenConsole: ['post /latchkey/v1/console/session', 'ticket:string', 'expires_seconds:int64 session_token:string'],
  CloseConsole: ['post /latchkey/v1/console/close', '', ''],
  GetSignings: ['post /latchkey/v1/signings', 'after:int64', 'signings:list(Signing) since_ms:int64'],
  // Its message is the envelope's, and not shown here.
  GetNode: [
    'get /latchkey/v1/node',
    '',
    'genesis_hash:string genesis_id:string has_faucet:boolean is_reachable:boolean is_set:boolean last_round:int64 network:string usdc_asset_ids:list(string)',
  ],
  ListContacts: ['get /latchkey/v1/contacts', '', 'contacts:list(Contact)'],
  SetContact: ['post /latchkey/v1/contact', 'address:string label:string', 'label:string'],
  DeleteContact: ['delete /latchkey/v1/contact', 'address:string', ''],
  ListPendingBackups: ['get /latchkey/v1/wallet/backups', '', 'wallet_ids:list(string)'],
  BackUpWallet: [
    'post /latchkey/v1/wallet/backup',
    'wallet_handle_token:string wallet_password:string',
    'master_derivation_key:bytes',
  ],
  FinishWalletBackup: ['post /latchkey/v1/wallet/backup/finish', 'wallet_id:string', ''],
  GetAccounts: ['post /latchkey/v1/accounts', 'addresses:list(string)', 'accounts:list(Account)'],
  FindTransactions: [
    'post /latchkey/v1/transactions',
    'transaction_ids:list(string)',
    'transactions:list(TransactionState)',
  ],
  DescribeTransaction: [
    'post /latchkey/v1/transaction/describe',
    'transaction:base64',
    'group_warnings:list(string) transactions:list(DescribedTransaction)',
  ],
  GetTransactionParameters: [
    'get /latchkey/v1/transaction/parameters',
    '',
    'fee_per_byte_micro_algos:string genesis_hash:string genesis_id:string last_round:int64 min_fee_micro_algos:string',
  ],
  GetAssets: ['post /latchkey/v1/assets', 'asset_ids:list(string)', 'assets:list(Asset)'],
  GetHoldings: ['post /latchkey/v1/holdings', 'addresses:list(string) asset_id:string', 'holdings:list(Holding)'],
  SimulateTransaction: [
    'post /latchkey/v1/transaction/simulate',
    'transaction:base64',
    'explanation:string is_accepted:boolean reason:string',
  ],
  FundAccount: [
    'post /latchkey/v1/devnet/fund',
    'address:string amount:string asset_id:string micro_algos:string',
    'micro_algos:string round:int64',
  ],
  SubmitTransaction: [
    'post /latchkey/v1/transaction/submit',
    'transaction:base64',
    'explanation:string reason:string round:int64 state:string transaction_id:string',
  ],
  GetTransactionOutcome: [
    'post /latchkey/v1/transaction/outcome',
    'first_valid:int64 last_valid:int64 transaction_id:string',
    'explanation:string last_round:int64 round:int64 state:string',
  ],
  SearchAudit: [
    'post /latchkey/v1/audit/search',
    'actor:string address:string after_ms:int64 after_number:int64 agent_id:string before_ms:int64 before_number:int64 count:int64 events:list(string) is_oldest_first:boolean text:string transaction_id:string wallet:string',
    'continue_from:int64 head_hash:string head_number:int64 records:list(AuditRecord)',
  ],
  VerifyAudit: [
    'post /latchkey/v1/audit/verify',
    '',
    'anchors:list(AuditAnchor) head_hash:string ok:boolean problem:string problem_number:int64 problem_type:string records:int64',
  ],
  PrepareAnchor: ['post /latchkey/v1/audit/anchor', '', 'hash:string note:string number:int64'],
  RecordAnchor: [
    'post /latchkey/v1/audit/anchored',
    'address:string network:string note:string round:int64 transaction_id:string',
    'recorded_as:int64',
  ],
}

/** Their tests check every member of their responses. */
const hasTestsOfItsOwn = (path: string): boolean => /^\/latchkey\/v1\/(agents?|approvals)(\/|$)/.test(path)

/** Responses without an envelope. */
const plain = { SwaggerHandler: 'get /swagger.json', GetMetrics: 'get /latchkey/v1/metrics' }

const objects = [
  ...['APIV1Wallet', 'APIV1WalletHandle', 'Signing', 'Account', 'AccountAsset', 'TransactionState'],
  ...['DescribedTransaction', 'Asset', 'Holding'],
  ...['DescribedTransaction', 'Contact', 'AuditRecord', 'AuditAnchor'],
]

function nameOf(schema: Schema, definitions: Document['definitions']): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/definitions/', '')
    const target = definitions[name]
    assert.ok(target, `${name} is not defined`)
    return objects.includes(name) ? name : nameOf(target, definitions)
  }
  if (schema.type === 'array') {
    const of = nameOf(schema.items!, definitions)
    return of === 'uint8' ? 'bytes' : `list(${of})`
  }
  return schema.format === 'byte' ? 'base64' : (schema.format ?? schema.type!)
}

function members(schema: Schema, definitions: Document['definitions'], without: string[] = []): string {
  const resolved = schema.$ref === undefined ? schema : definitions[schema.$ref.replace('#/definitions/', '')]!
  return Object.entries(resolved.properties!)
    .filter(([name]) => !without.includes(name))
    .map(([name, member]) => `${name}:${nameOf(member, definitions)}`)
    .sort()
    .join(' ')
}

function summarise(document: Document): typeof documented {
  const found: typeof documented = {}
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId in plain || hasTestsOfItsOwn(path)) continue
      const [body] = operation.parameters ?? []
      const answer = operation.responses['200']!.schema
      const answered = members(answer, document.definitions)
      assert.match(answered, /\berror:boolean\b.*\bmessage:string\b/, 'the envelope')
      found[operation.operationId] = [
        `${method} ${path}`,
        body === undefined ? '' : members(body.schema, document.definitions),
        members(answer, document.definitions, ['error', 'message']),
      ]
    }
  }
  return found
}

/** On the reference wire, bytes are base64 wherever they are integers on the documented one. */
const expectedOn = (wire: Wire): typeof documented =>
  JSON.parse(
    JSON.stringify({ ...documented, ...ours }, (_, text) =>
      typeof text === 'string' && wire === 'reference' ? text.replaceAll('bytes', 'base64') : text,
    ),
  )

for (const wire of wires) {
  const document = OpenApi.describe(wire) as unknown as Document

  test(`every documented operation is described on the ${wire} wire, with its members, and otherwise only ours are`, () => {
    assert.deepEqual(summarise(document), expectedOn(wire))
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method} ${path}`]),
    )
    for (const [id, route] of Object.entries(plain))
      assert.ok(
        routes.some((r) => r[0] === id && r[1] === route),
        id,
      )
    assert.equal(Object.keys(documented).length + 1, 23)
  })

  test(`every path described on the ${wire} wire is served`, async (t) => {
    const app = createApp(t, { wire, node: quietNode })
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of Object.keys(methods)) {
        const { status } = await app.request(method.toUpperCase(), path, { body: '{"unknown":1}' })
        const isForAgents = /^\/latchkey\/v1\/agent(\/|$)/.test(path) && status === 403
        assert.ok(status === 200 || status === 400 || isForAgents, `${method} ${path}: ${status}`)
      }
    }
    assert.deepEqual((await app.request('GET', '/swagger.json')).json, JSON.parse(JSON.stringify(document)))
  })
}

test('wallet and handle have the documented members', () => {
  const { definitions } = OpenApi.describe('documented') as unknown as Document
  assert.equal(
    members(definitions['APIV1Wallet']!, definitions),
    'driver_name:string driver_version:uint32 id:string mnemonic_ux:boolean name:string supported_txs:list(string)',
  )
  assert.equal(members(definitions['APIV1WalletHandle']!, definitions), 'expires_seconds:int64 wallet:APIV1Wallet')
})

test('signings, accounts and transactions have the members that the console reads', () => {
  const { definitions } = OpenApi.describe('documented') as unknown as Document
  const expected: { [name: string]: string } = {
    Signing:
      'amount:string asset_id:string at_ms:int64 decimals:int64 fee_micro_algos:string is_multisig:boolean number:int64 program:string receiver:string sender:string transaction_id:string type:string unit_name:string wallet_id:string wallet_name:string warnings:list(string)',
    Account:
      'address:string assets:list(AccountAsset) assets_left_out:int64 micro_algos:string min_micro_algos:string rekeyed_to:string',
    AccountAsset: 'amount:string asset_id:string decimals:int64 is_frozen:boolean unit_name:string',
    TransactionState: 'round:int64 state:string transaction_id:string',
  }
  for (const [name, listed] of Object.entries(expected)) {
    assert.equal(members(definitions[name]!, definitions), listed, name)
  }
})

test('a partial multisig is described by the names of its wire', () => {
  const names = (wire: Wire): string => {
    const { definitions } = OpenApi.describe(wire) as unknown as Document
    const partial = definitions['SignMultisigTransactionRequest']!.properties!['partial_multisig']!
    const list = partial.properties!['Subsigs'] ?? partial.properties!['subsig']
    return `${members(partial, definitions)} | ${members(list!.items!, definitions)}`
  }
  assert.equal(names('documented'), 'Subsigs:list(object) Threshold:uint8 Version:uint8 | Key:bytes Sig:bytes')
  assert.equal(names('reference'), 'subsig:list(object) thr:uint8 v:uint8 | pk:base64 s:base64')
})

test('only operations without a token are described as such', () => {
  for (const wire of wires) {
    const { paths } = OpenApi.describe(wire) as unknown as Document
    const open = Object.entries(paths).filter(([, methods]) => Object.values(methods).some(({ security }) => security))
    assert.deepEqual(
      open.map(([path]) => path),
      wire === 'reference'
        ? ['/versions', '/latchkey/v1/console/session', '/swagger.json']
        : ['/latchkey/v1/console/session'],
    )
  }
})
