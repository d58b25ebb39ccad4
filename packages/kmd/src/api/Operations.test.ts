/** The order in which an operation checks its request: the response reports the first error. */
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Address, Ed25519, Network, SignedTransaction, Transaction } from '@latchkey/algorand'
import { createApp, quietNode, type TestApp } from '../testing/TestApp.test.helper.js'
import { sql } from '../testing/WalletFixture.test.helper.js'
import { operations } from './Operations.js'

type Body = Record<string, unknown>
/** A change that makes the request invalid, and the response if it is the first error. */
type Fault = [change: Body, status: number, message: string]
type Case = { valid: Body; faults: Fault[] }

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const key = (number: number): Uint8Array => Ed25519.publicKey(new Uint8Array(32).fill(number))
const stranger = key(99)
const noHandle: Fault = [{ wallet_handle_token: 'nonsense' }, 401, 'wrong number of token parts']
const noWallet: Fault = [{ wallet_id: 'nonsense' }, 400, 'wallet not found']
const noAddress: Fault = [{ address: 'nonsense' }, 400, 'could not decode address']
const noTransaction: Fault = [{ transaction: base64(Uint8Array.of(0x80)) }, 400, 'could not decode transaction']
const wrongPassword: Fault = [{ wallet_password: 'wrong' }, 400, 'error decrypting. wrong password?']
const noKey = (change: Body): Fault => [change, 400, 'key does not exist in this wallet']
const taken: Fault = [{ wallet_name: 'two' }, 400, 'wallet with same name already exists']
const tooLong: Fault = [{ wallet_name: 'x'.repeat(65) }, 400, 'wallet name too long, must be <= 64 bytes']

/** A wallet with a key and a multisig, and for every operation a valid request and all its possible faults. */
async function prepare(t: TestContext): Promise<{ app: TestApp; cases: { [operation: string]: Case } }> {
  const app = createApp(t, { lifetimeMs: 1e9, node: quietNode })
  await app.unlocked('two')
  const { id, handle } = await app.unlocked('one')
  const token = { wallet_handle_token: handle }
  const { address } = (await app.post('/v1/key', token)).json
  const own = Address.decode(address)
  const pks = [own, key(1)].map(base64)
  const multisig = { multisig_version: 1, threshold: 2, pks }
  const { address: account } = (await app.post('/v1/multisig/import', { ...token, ...multisig })).json
  const password = { wallet_password: 'secret' }
  const transaction = base64(Transaction.encode({ type: 'pay', snd: own }))
  const signed = base64(SignedTransaction.encode({ txn: { type: 'pay', snd: own }, sig: new Uint8Array(64).fill(1) }))
  const fromAccount = base64(Transaction.encode({ type: 'pay', snd: Address.decode(account) }))
  const wallet = { wallet_id: id, ...password }
  app.context.contacts.set(account, 'theirs')
  app.context.pendingBackups.add(id)
  const notMember: Fault = [{ address: Address.encode(stranger) }, 400, multisigMissing]
  const cases: { [operation: string]: Case } = {
    CreateWallet: {
      valid: { wallet_name: 'three', wallet_driver_name: 'sqlite' },
      faults: [
        [{ wallet_driver_name: 'nonsense' }, 400, 'unknown wallet driver'],
        [{ master_derivation_key: 'AAAA' }, 400, 'master_derivation_key must be 32 bytes, or absent for a random one'],
        tooLong,
        taken,
      ],
    },
    InitWalletHandleToken: { valid: wallet, faults: [noWallet, [wrongPassword[0], 401, wrongPassword[2]]] },
    GetWalletInfo: { valid: token, faults: [noHandle] },
    RenewWalletHandleToken: { valid: token, faults: [noHandle] },
    ReleaseWalletHandleToken: { valid: token, faults: [noHandle] },
    RenameWallet: {
      valid: { ...wallet, wallet_name: 'four' },
      faults: [
        noWallet,
        [{ wallet_name: '' }, 400, 'wallet name must not be blank'],
        tooLong,
        taken,
        [{ wallet_name: 'one' }, 400, taken[2]],
        wrongPassword,
      ],
    },
    ExportMasterKey: { valid: { ...token, ...password }, faults: [noHandle, wrongPassword] },
    ListKeysInWallet: { valid: token, faults: [noHandle] },
    ListMultisig: { valid: token, faults: [noHandle] },
    GenerateKey: {
      valid: token,
      faults: [noHandle, [{ display_mnemonic: true }, 400, 'sqlite wallet driver cannot display mnemonics']],
    },
    ImportKey: {
      valid: { ...token, private_key: base64(new Uint8Array(32).fill(5)) },
      faults: [
        noHandle,
        [
          { private_key: 'AAAA' },
          400,
          'private_key must be 64 bytes (seed, then public key) or the 32 bytes of the seed',
        ],
        [
          { private_key: base64(new Uint8Array(64).fill(5)) },
          400,
          'private_key is damaged: its public half does not belong to its seed',
        ],
      ],
    },
    ImportMultisig: {
      valid: { ...token, ...multisig, threshold: 1 },
      faults: [
        noHandle,
        [{ pks: ['AAAA', ...pks] }, 400, 'each public key must be 32 bytes'],
        [{ multisig_version: 2 }, 400, 'unknown version'],
        [{ threshold: 3 }, 400, 'Invalid threshold'],
        [{ threshold: 2 }, 400, 'key already exists in wallet'],
      ],
    },
    ExportKey: {
      valid: { ...token, ...password, address },
      faults: [noAddress, noHandle, wrongPassword, noKey({ address: account })],
    },
    DeleteKey: { valid: { ...token, ...password, address }, faults: [noAddress, noHandle, wrongPassword] },
    ExportMultisig: { valid: { ...token, address: account }, faults: [noAddress, noHandle, notMember] },
    DeleteMultisig: {
      valid: { ...token, ...password, address: account },
      faults: [noAddress, noHandle, wrongPassword],
    },
    SignTransaction: {
      valid: { ...token, ...password, transaction },
      faults: [noHandle, noTransaction, wrongPassword, noKey({ public_key: base64(stranger) })],
    },
    SignProgram: {
      valid: { ...token, ...password, address, data: 'AQ==' },
      faults: [noHandle, noAddress, wrongPassword, noKey({ address: account })],
    },
    SignMultisigTransaction: {
      valid: { ...token, ...password, transaction: fromAccount, public_key: base64(own) },
      faults: [
        noHandle,
        noTransaction,
        wrongPassword,
        [{ signer: 'AAAA' }, 400, 'signer must be 32 bytes, or absent'],
        [{ transaction }, 400, multisigMissing],
        noKey({ public_key: base64(stranger) }),
      ],
    },
    SignMultisigProgram: {
      valid: { ...token, ...password, address: account, data: 'AQ==', public_key: base64(own) },
      faults: [noHandle, noAddress, wrongPassword, notMember, noKey({ public_key: base64(stranger) })],
    },
    SignReceipt: {
      valid: {
        ...token,
        ...password,
        address,
        network: Network.testnet.caip2,
        resource_url: 'https://shop.example/a',
        payer: address,
        transaction_id: 'A'.repeat(52),
      },
      faults: [
        noHandle,
        noAddress,
        [{ payer: 'nonsense' }, 400, 'could not decode address'],
        [{ transaction_id: 'nonsense' }, 400, 'could not decode transaction id'],
        [{ network: 'eip155:1' }, 400, 'could not make the receipt'],
        [{ resource_url: 'nonsense' }, 400, 'could not make the receipt'],
        wrongPassword,
        noKey({ address: account }),
      ],
    },
    SignOffer: {
      valid: {
        ...token,
        ...password,
        address,
        resource_url: 'https://shop.example/a',
        scheme: 'exact',
        network: Network.testnet.caip2,
        asset: '10458941',
        pay_to: address,
        amount: '10000',
        valid_until: 2_000_000_000,
      },
      faults: [
        noHandle,
        noAddress,
        [{ pay_to: 'nonsense' }, 400, 'could not decode address'],
        [{ network: 'eip155:1' }, 400, 'could not make the offer'],
        [{ resource_url: 'nonsense' }, 400, 'could not make the offer'],
        [{ amount: '-1' }, 400, 'could not make the offer'],
        wrongPassword,
        noKey({ address: account }),
      ],
    },
    ChangeWalletPassword: { valid: { ...wallet, new_wallet_password: 'new' }, faults: [noWallet, wrongPassword] },
    DeleteWallet: { valid: wallet, faults: [noWallet, wrongPassword] },
    CreateConsoleLink: { valid: {}, faults: [] },
    OpenConsole: {
      valid: { ticket: app.tickets.create() },
      faults: [
        [{ ticket: 'nonsense' }, 401, 'this console link was already used or has expired; run: latchkey console'],
      ],
    },
    CloseConsole: { valid: {}, faults: [] },
    GetSignings: { valid: { after: 0 }, faults: [] },
    GetAccounts: {
      valid: { addresses: [address] },
      faults: [
        [{ addresses: Array(101).fill('nonsense') }, 400, 'too many addresses, must be <= 100'],
        [{ addresses: [address, 'nonsense'] }, 400, 'could not decode address'],
      ],
    },
    FindTransactions: {
      valid: { transaction_ids: ['A'.repeat(52)] },
      faults: [
        [{ transaction_ids: Array(51).fill('nonsense') }, 400, 'too many transaction ids, must be <= 50'],
        [{ transaction_ids: ['A'.repeat(51), '../status'] }, 400, 'could not decode transaction id'],
      ],
    },
    SetContact: {
      valid: { address, label: 'mine' },
      faults: [
        noAddress,
        [{ label: 'a\u202eb' }, 400, 'a label must have 1 to 64 visible characters, and must not be an address'],
        [{ label: 'Theirs' }, 400, 'another address has this label'],
      ],
    },
    DeleteContact: { valid: { address }, faults: [noAddress] },
    BackUpWallet: { valid: { ...token, ...password }, faults: [noHandle, wrongPassword] },
    FinishWalletBackup: { valid: { wallet_id: id }, faults: [noWallet] },
    DescribeTransaction: { valid: { transaction }, faults: [noTransaction] },
    SimulateTransaction: { valid: { transaction }, faults: [noTransaction] },
    SubmitTransaction: {
      valid: { transaction: signed },
      faults: [
        noTransaction,
        [{ transaction }, 400, 'a transaction is not signed, or lacks signatures of its multisig'],
      ],
    },
    GetTransactionOutcome: {
      valid: { transaction_id: 'A'.repeat(52), first_valid: 1, last_valid: 9 },
      faults: [[{ transaction_id: '../status' }, 400, 'could not decode transaction id']],
    },
    GetAssets: {
      valid: { asset_ids: ['7'] },
      faults: [
        [{ asset_ids: Array(51).fill('nonsense') }, 400, 'too many asset ids, must be <= 50'],
        [{ asset_ids: ['7', '../status'] }, 400, 'could not decode asset id'],
      ],
    },
    GetHoldings: {
      valid: { asset_id: '7', addresses: [address] },
      faults: [
        [{ addresses: Array(101).fill('nonsense') }, 400, 'too many addresses, must be <= 100'],
        [{ asset_id: 'nonsense' }, 400, 'could not decode asset id'],
        [{ addresses: [address, 'nonsense'] }, 400, 'could not decode address'],
      ],
    },
    FundAccount: {
      valid: { address, micro_algos: '5', asset_id: '7', amount: '3' },
      faults: [
        noAddress,
        [{ micro_algos: '-1' }, 400, 'could not decode amount'],
        [{ amount: '1.5' }, 400, 'could not decode amount'],
        [{ asset_id: 'nonsense' }, 400, 'could not decode asset id'],
      ],
    },
    SearchAudit: {
      valid: { events: ['wallet_unlocked'], actor: 'owner', wallet: id, text: 'unlocked', count: 3 },
      faults: [
        [{ events: Array(99).fill('nonsense') }, 400, 'the audit log query is invalid'],
        [{ events: ['nonsense'] }, 400, 'unknown event nonsense'],
        [{ count: 1001 }, 400, 'count must be <= 1000'],
        noAddress,
        [{ text: 'x'.repeat(257) }, 400, 'actor and text must be <= 256 bytes'],
      ],
    },
    VerifyAudit: { valid: {}, faults: [] },
    PrepareAnchor: { valid: {}, faults: [] },
    RecordAnchor: {
      valid: {
        ...{ note: (await app.post('/latchkey/v1/audit/anchor', {})).json.note, transaction_id: 'A'.repeat(52) },
        ...{ address, network: base64(new Uint8Array(32)), round: 5 },
      },
      faults: [
        [{ note: `latchkey/audit/1:1:${'0'.repeat(64)}` }, 400, 'the note is not an anchor of this log'],
        [{ transaction_id: '../status' }, 400, 'could not decode transaction id'],
        noAddress,
        [{ network: 'nonsense' }, 400, 'network is not a genesis hash in base64'],
      ],
    },
  }
  return { app, cases }
}

const multisigMissing = 'multisig information (pks, threshold) for address does not exist in this wallet'
const allOf = (faults: Fault[]): Body => Object.assign({}, ...faults.map(([change]) => change).reverse())
/**
 * Operations on agents, approvals and the audit log exist only in Latchkey. Their tests specify the checks, in no
 * order.
 */
const isOrdered = (path: string): boolean => !/^\/latchkey\/v1\/(agents?|approvals)(\/|$)/.test(path)
const withBody = operations.filter(({ method, path }) => method !== 'GET' && isOrdered(path))

for (const { id, method, path, open } of withBody) {
  test(`${id} reports the first error`, async (t) => {
    const { app, cases } = await prepare(t)
    const { valid, faults } = cases[id]!
    const all: Fault[] = [[{ unknown: 1 }, 400, 'could not decode request body'], ...faults]
    for (const [index, [, status, message]] of all.entries()) {
      // This fault and every later one at once. If several change a member, it has the value of the first.
      const body = { ...all[index]![0], ...valid, ...allOf(all.slice(index)) }
      const response = await app.request(method, path, { body })
      assert.deepEqual([response.status, response.json], [status, { error: true, message }])
    }
    const everyFault = { ...all[0]![0], ...valid, ...allOf(all) }
    const rejected = await app.request(method, path, { body: everyFault, headers: { 'x-kmd-api-token': 'wrong' } })
    const [, ...rejection] = open === undefined ? [{}, 401, 'invalid API token'] : all[0]!
    assert.deepEqual([rejected.status, rejected.json.message], rejection)
    const response = await app.request(method, path, { body: valid })
    assert.deepEqual([response.status, response.json.error], [200, undefined], response.text)
    assert.deepEqual(app.failures, [])
  })
}

test('every operation has a row', async (t) => {
  const { cases } = await prepare(t)
  assert.deepEqual(Object.keys(cases).sort(), withBody.map(({ id }) => id).sort())
})

/** If it is not 400. */
const statuses: { [operation: string]: number } = {
  InitWalletHandleToken: 401,
  GetWalletInfo: 500,
  RenewWalletHandleToken: 500,
  ListKeysInWallet: 500,
  ListMultisig: 500,
  GenerateKey: 500,
}
const byPassword = ['InitWalletHandleToken', 'RenameWallet', 'ChangeWalletPassword', 'DeleteWallet']
const withoutFile = [
  ...['CreateWallet', 'ReleaseWalletHandleToken', 'ExportMasterKey', 'CreateConsoleLink', 'OpenConsole'],
  ...['CloseConsole', 'GetSignings', 'GetAccounts', 'FindTransactions', 'DescribeTransaction'],
  ...['SimulateTransaction', 'SubmitTransaction', 'GetTransactionOutcome', 'GetAssets', 'GetHoldings', 'FundAccount'],
  ...['SetContact', 'DeleteContact', 'BackUpWallet', 'FinishWalletBackup'],
  ...['SearchAudit', 'VerifyAudit', 'PrepareAnchor', 'RecordAnchor'],
]

async function failsAll(app: TestApp, ids: string[], cases: { [operation: string]: Case }, message: string) {
  for (const { id, method, path } of withBody.filter((operation) => ids.includes(operation.id))) {
    const response = await app.request(method, path, { body: cases[id]!.valid })
    assert.deepEqual([id, response.status, response.json], [id, statuses[id] ?? 400, { error: true, message }])
  }
}

test('a failure of the wallet file has the status of its operation in the reference', async (t) => {
  const { app, cases } = await prepare(t)
  const path = join(app.directory, readdirSync(app.directory).find((file) => file.startsWith('one.'))!)
  sql(path, 'UPDATE metadata SET mep_encrypted = ?', Uint8Array.of(0xc1))
  await failsAll(app, byPassword, cases, 'msgpack decode error: a stored value of this wallet is damaged')
  writeFileSync(path, 'garbage'.repeat(1000))
  const byHandle = withBody.map(({ id }) => id).filter((id) => !byPassword.includes(id) && !withoutFile.includes(id))
  await failsAll(app, byHandle, cases, 'database error')
  assert.ok(app.failures.length > 0, 'the operator learns of it')
})
