import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wires } from '@latchkey/kmd-api'
import { createApp, quietNode } from '../testing/TestApp.test.helper.js'
import { operations } from './Operations.js'

/** A session cannot export, delete or change keys and passwords, and opens no other session. */
const forbidden = new Set([
  ...['ExportKey', 'ExportMasterKey', 'DeleteKey', 'DeleteMultisig', 'DeleteWallet', 'ChangeWalletPassword'],
  ...['CreateConsoleLink', 'PrepareAnchor', 'RecordAnchor', 'SignReceipt', 'SignOffer'],
])

/** These need an agent's token, regardless of the console's permissions. */
const agentsOnly = [
  ...['GetOwnAgent', 'SignAsAgent', 'SignUptoAsAgent', 'TestOwnAgent', 'ListOwnRecords'],
  'WaitForApproval',
]

const allowed = new Set([
  ...['GetVersion', 'GetHealth', 'CreateWallet', 'ListWallets', 'RenameWallet', 'InitWalletHandleToken'],
  ...['GetWalletInfo', 'RenewWalletHandleToken', 'ReleaseWalletHandleToken', 'GenerateKey', 'ImportKey'],
  ...['ListKeysInWallet', 'ImportMultisig', 'ExportMultisig', 'ListMultisig', 'SignTransaction'],
  ...['SignMultisigTransaction', 'SignProgram', 'SignMultisigProgram', 'OpenConsole', 'CloseConsole', 'GetNode'],
  ...['ListContacts', 'SetContact', 'DeleteContact', 'ListPendingBackups', 'BackUpWallet', 'FinishWalletBackup'],
  ...['GetAccounts', 'GetSignings', 'FindTransactions', 'DescribeTransaction'],
  // A submitted transaction was signed with a password, and the faucet belongs to a devnet.
  ...['GetTransactionParameters', 'GetAssets', 'GetHoldings', 'SimulateTransaction', 'SubmitTransaction'],
  ...['GetTransactionOutcome', 'FundAccount', 'SearchAudit', 'VerifyAudit'],
  // Widening a grant needs the wallet's password.
  ...['ListAgents', 'CreateAgent', 'ShowAgent', 'PauseAgent', 'ResumeAgent', 'RevokeAgent', 'SetAgentRules'],
  ...['ConfirmAgents', 'RotateAgentToken', 'TestAgent'],
  ...['ListApprovals', 'WatchApprovals', 'ApprovePayment', 'DenyPayment'],
  ...agentsOnly,
])

test('every operation is either allowed or forbidden for the console', () => {
  const decided = [...forbidden, ...allowed].sort()
  assert.deepEqual(operations.map(({ id }) => id).sort(), decided)
})

for (const wire of wires) {
  test(`a session can use only allowed operations, on the ${wire} wire`, async (t) => {
    const app = createApp(t, { wire, node: quietNode })
    for (const { id, method, path } of operations) {
      // Nothing is done with any token, because the body is not an object.
      const headers = { 'x-kmd-api-token': app.sessions.open() }
      const { status, json } = await app.request(method, path, { headers, body: '"nothing"' })
      if (forbidden.has(id)) {
        const message = 'the console may not do this; use the command line'
        assert.deepEqual([id, status, json], [id, 403, { error: true, message }])
      } else assert.ok(agentsOnly.includes(id) || status === 200 || status === 400, `${id}: ${status}`)
    }
    const headers = { 'x-kmd-api-token': app.sessions.open() }
    for (const path of ['/swagger.json', '/latchkey/v1/metrics']) {
      assert.equal((await app.request('GET', path, { headers })).status, 200)
    }
  })
}

test('the API token can use every operation, and an ended session opens no other', async (t) => {
  const app = createApp(t, { node: quietNode })
  for (const { id, method, path } of operations) {
    const { status } = await app.request(method, path, { body: '"nothing"' })
    assert.ok(agentsOnly.includes(id) || status === 200 || status === 400, `${id}: ${status}`)
  }
  const token = app.sessions.open()
  const headers = { 'x-kmd-api-token': token }
  assert.equal((await app.request('GET', '/v1/wallets', { headers })).status, 200)
  app.sessions.clear()
  for (const path of ['/v1/wallets', '/latchkey/v1/metrics']) {
    const { status, json } = await app.request('GET', path, { headers })
    assert.deepEqual([status, json], [401, { error: true, message: 'invalid API token' }])
  }
})

test('waiting for approvals does not count as use of a session, deciding them does', async (t) => {
  const app = createApp(t, { node: quietNode })
  const token = app.sessions.open()
  const session = app.sessions.use(token)!
  const before = session.usedAtMs - 1
  session.usedAtMs = before
  const headers = { 'x-kmd-api-token': token }
  const body = JSON.stringify({ revision: '', wait_seconds: 0 })
  assert.equal((await app.request('POST', '/latchkey/v1/approvals/watch', { headers, body })).status, 200)
  assert.equal(session.usedAtMs, before)
  assert.equal((await app.request('POST', '/latchkey/v1/approvals/list', { headers, body: '{}' })).status, 200)
  assert.ok(session.usedAtMs > before)
})
