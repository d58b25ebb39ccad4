/** Compares the documented wire with the documentation's own tables, operation by operation. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as algosdk from 'algosdk'
import { type Json, startHostedDaemon, type TestDaemon, type TestResponse } from '../support/daemon.test.helper.js'
import { derived, masterKey } from '../support/golden.test.helper.js'
import { assertDocumentedResponse, operation, operations } from '../support/operations.test.helper.js'
import {
  assertMultisigned,
  assertSigned,
  isSignature,
  multisigProgramMessage,
  programMessage,
} from '../support/signatures.test.helper.js'
import {
  type ByteForm,
  decodeMultisig,
  program,
  type Spelling,
  type Tour,
  takeTour,
} from '../support/tour.test.helper.js'

const args = ['--wire', 'documented']

test('the documentation has 23 operations', () => {
  assert.equal(operations.length, 23)
})

const forms: [ByteForm, Spelling][] = [
  ['integers', 'documented'],
  ['base64', 'documented'],
  ['integers', 'reference'],
  ['base64', 'reference'],
]

for (const [form, spelling] of forms) {
  suite(`requests with bytes as ${form} and ${spelling} names`, () => {
    let daemon: TestDaemon
    let tour: Tour

    before(async () => {
      daemon = await startHostedDaemon({ args })
      tour = await takeTour(daemon, form, spelling)
    })
    after(() => daemon?.stop())

    for (const described of operations) {
      test(`${described.id} responds with exactly its fields`, () => {
        const answers = tour.steps.filter(({ id }) => id === described.id).map(({ answer }) => answer)
        assert.ok(answers.length > 0)
        for (const answer of answers) {
          assert.equal(answer.status, 200)
          assert.equal(answer.headers['content-type'], 'application/json')
          if (described.id === 'SwaggerHandler') {
            assert.equal(answer.json.swagger, '2.0')
            continue
          }
          assertDocumentedResponse(described, answer.json)
          assert.equal(answer.text, JSON.stringify(answer.json), 'the layout is compact')
        }
      })
    }

    test('wallets', () => {
      const { wallet } = tour.answer('CreateWallet')
      assert.match(wallet.id, /^[0-9a-f]{32}$/)
      assert.deepEqual(wallet, {
        driver_name: 'sqlite',
        driver_version: 1,
        id: wallet.id,
        mnemonic_ux: false,
        name: `tour ${form} ${spelling}`,
        supported_txs: ['pay', 'keyreg'],
      })
      const renamed = { ...wallet, name: `renamed ${form} ${spelling}` }
      assert.deepEqual(tour.answer('RenameWallet').wallet, renamed)
      assert.deepEqual(tour.answer('ListWallets').wallets, [renamed])
      assert.deepEqual(tour.answer('GetWalletInfo').wallet_handle.wallet, renamed)
      assert.deepEqual(tour.answer('RenewWalletHandleToken').wallet_handle.wallet, renamed)
    })

    test('keys', () => {
      const { addr, sk } = tour.imported
      assert.equal(tour.answer('GenerateKey', 0).address, derived[0])
      assert.equal(tour.answer('GenerateKey', 1).address, derived[1])
      assert.equal(tour.answer('ImportKey').address, addr.toString())
      const { addresses } = tour.answer('ListKeysInWallet')
      assert.deepEqual([...addresses].sort(), [derived[0], derived[1], addr.toString()].sort())
      assert.deepEqual(tour.answer('ExportKey').private_key, Array.from(sk))
      assert.deepEqual(tour.answer('ExportMasterKey').master_derivation_key, Array.from(masterKey))
    })

    test('multisig preimages', () => {
      const address = algosdk.multisigAddress(tour.multisig).toString()
      assert.equal(tour.answer('ImportMultisig').address, address)
      assert.deepEqual(tour.answer('ListMultisig').addresses, [address])
      const { multisig_version, pks, threshold } = tour.answer('ExportMultisig')
      assert.deepEqual([multisig_version, threshold], [1, 2])
      assert.deepEqual(
        pks,
        tour.multisig.addrs.map((member) => Array.from(algosdk.decodeAddress(member).publicKey)),
      )
    })

    test('signatures', () => {
      const signed = Buffer.from(tour.answer('SignTransaction').signed_transaction, 'base64')
      assertSigned(signed, tour.transaction, derived[0])
      const signature = Buffer.from(tour.answer('SignProgram').sig, 'base64')
      assert.ok(isSignature(algosdk.decodeAddress(derived[0]).publicKey, programMessage(program), signature))
    })

    test('multisig signatures, started and added to', () => {
      const [first, second, third] = tour.multisig.addrs as [string, string, string]
      const message = tour.multisigTransaction.bytesToSign()
      const transactions = [0, 1].map((call) => decodeMultisig(tour.answer('SignMultisigTransaction', call).multisig))
      assertMultisigned(transactions[0]!, tour.multisig, message, [first])
      assertMultisigned(transactions[1]!, tour.multisig, message, [first, second])
      const toSign = multisigProgramMessage(tour.answer('ImportMultisig').address, program)
      const programs = [0, 1].map((call) => decodeMultisig(tour.answer('SignMultisigProgram', call).multisig))
      assertMultisigned(programs[0]!, tour.multisig, toSign, [first])
      assertMultisigned(programs[1]!, tour.multisig, toSign, [first, third])
    })
  })
}

suite('empty values', () => {
  let daemon: TestDaemon

  before(async () => {
    daemon = await startHostedDaemon({ args })
  })
  after(() => daemon?.stop())

  const call = async (id: string, body?: Json): Promise<Json> => {
    const { method, path } = operation(id)
    const { status, json, text } = await daemon.call(method, path, body)
    assert.equal(status, 200, text)
    assertDocumentedResponse(operation(id), json)
    return json
  }

  test('empty lists are present', async () => {
    assert.deepEqual(await call('ListWallets'), { error: false, message: '', wallets: [] })
    // All fields are optional: without a password it is blank, without a name it is the id, and without a key it is
    // random.
    const { wallet } = await call('CreateWallet', { wallet_driver_name: 'sqlite' })
    assert.equal(wallet.name, wallet.id)
    const { wallet_handle_token } = await call('InitWalletHandleToken', { wallet_id: wallet.id })
    const empty = { error: false, message: '', addresses: [] }
    assert.deepEqual(await call('ListKeysInWallet', { wallet_handle_token }), empty)
    assert.deepEqual(await call('ListMultisig', { wallet_handle_token }), empty)
  })

  test('responses without fields have the envelope', async () => {
    const { wallet } = await call('CreateWallet', { wallet_driver_name: 'sqlite', wallet_name: 'envelope' })
    const { wallet_handle_token } = await call('InitWalletHandleToken', { wallet_id: wallet.id })
    const secret = { wallet_handle_token, wallet_password: '', address: derived[0] }
    for (const [id, body] of [
      ['DeleteKey', secret],
      ['DeleteMultisig', secret],
      ['ReleaseWalletHandleToken', { wallet_handle_token }],
    ] as const) {
      assert.deepEqual(await call(id, body), { error: false, message: '' })
    }
  })

  test('a multisig signature starts from the stored preimage when no partial one is sent', async () => {
    const { wallet } = await call('CreateWallet', {
      wallet_driver_name: 'sqlite',
      wallet_name: 'multisig',
      master_derivation_key: Array.from(masterKey),
    })
    const { wallet_handle_token } = await call('InitWalletHandleToken', { wallet_id: wallet.id })
    const { address } = await call('GenerateKey', { wallet_handle_token })
    const publicKey = Array.from(algosdk.decodeAddress(address).publicKey)
    const preimage = { multisig_version: 1, threshold: 1, pks: [publicKey] }
    const { address: multisigAddress } = await call('ImportMultisig', { wallet_handle_token, ...preimage })
    const request = {
      wallet_handle_token,
      address: multisigAddress,
      data: program.toString('base64'),
      public_key: publicKey,
    }
    const metadata = { version: 1, threshold: 1, addrs: [address] }
    for (const partial_multisig of [
      undefined,
      null,
      {},
      { Subsigs: [], Threshold: 0, Version: 0 },
      { Subsigs: [], Threshold: 1, Version: 1 },
    ]) {
      const { multisig } = await call('SignMultisigProgram', { ...request, partial_multisig })
      const message = multisigProgramMessage(multisigAddress, program)
      assertMultisigned(decodeMultisig(multisig), metadata, message, [address])
    }
  })
})

suite('failures', () => {
  let daemon: TestDaemon
  let walletId: string

  before(async () => {
    daemon = await startHostedDaemon({ args })
    const body = { wallet_driver_name: 'sqlite', wallet_name: 'w', wallet_password: 'right' }
    walletId = (await daemon.call('POST', '/v1/wallet', body)).json.wallet.id
  })
  after(() => daemon?.stop())

  const assertFailure = (answer: TestResponse, status: number, message: string): void => {
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.deepEqual([answer.status, answer.text], [status, JSON.stringify({ error: true, message })])
  }

  for (const { id, method, path } of operations) {
    test(`${id} without the token is refused`, async () => {
      for (const token of [null, '', 'b'.repeat(64), `${daemon.token}a`, daemon.token.slice(1)]) {
        assertFailure(await daemon.call(method, path, {}, { token }), 401, 'invalid API token')
      }
    })
  }

  for (const { id, method, path, request } of operations) {
    if (request === undefined) continue
    test(`${id} refuses a malformed body`, async () => {
      const message = 'could not decode request body'
      for (const body of ['', '{', '"text"', '{"no_such_field":1}', { [Object.keys(request)[0]!]: { a: 1 } }]) {
        assertFailure(await daemon.call(method, path, body), 400, message)
      }
    })

    test(`${id} without any field is refused in the envelope`, async () => {
      const { status, json } = await daemon.call(method, path, {})
      assert.ok(status === 400 || status === 401, `status ${status}`)
      assert.deepEqual(Object.keys(json), ['error', 'message'])
      assert.equal(json.error, true)
      assert.notEqual(json.message, '')
    })
  }

  test('a wrong password', async () => {
    const wrong = { wallet_id: walletId, wallet_password: 'wrong' }
    assertFailure(await daemon.call('POST', '/v1/wallet/init', wrong), 401, 'error decrypting. wrong password?')
    const right = { ...wrong, wallet_password: 'right' }
    const { wallet_handle_token } = (await daemon.call('POST', '/v1/wallet/init', right)).json
    const body = { wallet_handle_token, wallet_password: 'wrong' }
    assertFailure(await daemon.call('POST', '/v1/master-key/export', body), 400, 'error decrypting. wrong password?')
  })

  test('paths and methods that are not served', async () => {
    const missing = await daemon.call('GET', '/v1/nothing')
    assert.deepEqual([missing.status, missing.json.error], [404, true])
    const method = await daemon.call('GET', '/v1/wallet/init')
    assert.deepEqual([method.status, method.json.error, method.headers.allow], [405, true, 'POST, OPTIONS'])
  })

  test('a body that is too large', async () => {
    const { status, json } = await daemon.call('POST', '/v1/wallet', `{"wallet_name":"${'a'.repeat(1024 * 1024)}"}`)
    assert.deepEqual([status, json.error], [413, true])
  })
})

suite('handle lifetime', () => {
  const call = async (daemon: TestDaemon, id: string, body: Json): Promise<TestResponse> => {
    const { method, path } = operation(id)
    return daemon.call(method, path, body)
  }

  const open = async (daemon: TestDaemon): Promise<{ wallet_handle_token: string }> => {
    const { wallets } = (await daemon.call('GET', '/v1/wallets')).json
    const body = { wallet_driver_name: 'sqlite', wallet_name: 'w', wallet_password: 'p' }
    const id = wallets[0]?.id ?? (await call(daemon, 'CreateWallet', body)).json.wallet.id
    const { json } = await call(daemon, 'InitWalletHandleToken', { wallet_id: id, wallet_password: 'p' })
    assert.match(json.wallet_handle_token, /^[0-9a-f]{16}\.[0-9a-f]{64}$/)
    return { wallet_handle_token: json.wallet_handle_token }
  }

  const assertEnded = (answer: TestResponse, message: string): void => {
    assert.deepEqual([answer.status, answer.json], [401, { error: true, message }])
  }

  suite('a lifetime of 4 seconds', () => {
    let daemon: TestDaemon

    before(async () => {
      daemon = await startHostedDaemon({ args, config: { session_lifetime_secs: 4 } })
    })
    after(() => daemon?.stop())

    test('info returns the time left and does not change it; renewing restores it', async () => {
      const handle = await open(daemon)
      const left = async (id: string): Promise<number> =>
        (await call(daemon, id, handle)).json.wallet_handle.expires_seconds
      const atFirst = await left('GetWalletInfo')
      assert.ok(atFirst === 3 || atFirst === 2, `${atFirst} of 4 seconds are left at first`)
      await sleep(1500)
      const later = await left('GetWalletInfo')
      assert.ok(later < atFirst, `${later} seconds are left later`)
      assert.ok((await left('RenewWalletHandleToken')) > later)
      await sleep(2600)
      // More than 4 seconds after opening: a renewed handle is still valid, with the rest of its new 4 seconds.
      assert.ok((await left('GetWalletInfo')) <= 1)
    })

    test('a released handle is rejected by every operation', async () => {
      const handle = await open(daemon)
      assert.equal((await call(daemon, 'ReleaseWalletHandleToken', handle)).status, 200)
      const bound = operations.filter(({ request }) => request !== undefined && 'wallet_handle_token' in request)
      assert.equal(bound.length, 17)
      for (const { id, request } of bound) {
        const address = request !== undefined && 'address' in request ? { address: derived[0] } : {}
        assertEnded(await call(daemon, id, { ...handle, ...address }), 'handle does not exist')
      }
    })

    test('releasing one handle keeps others of the same wallet', async () => {
      const [one, other] = [await open(daemon), await open(daemon)]
      await call(daemon, 'ReleaseWalletHandleToken', one)
      assertEnded(await call(daemon, 'GetWalletInfo', one), 'handle does not exist')
      assert.equal((await call(daemon, 'GetWalletInfo', other)).status, 200)
    })

    test('an unknown handle is rejected', async () => {
      const { wallet_handle_token } = await open(daemon)
      const [id, secret] = wallet_handle_token.split('.') as [string, string]
      const flipped = (secret[0] === '0' ? '1' : '0') + secret.slice(1)
      const made: [string, string][] = [
        ['', 'wrong number of token parts'],
        [id, 'wrong number of token parts'],
        [`x${wallet_handle_token}`, 'invalid wallet handle id'],
        [`${wallet_handle_token}0`, 'invalid wallet handle secret'],
        [`${id}.${flipped}`, 'invalid token'],
        [`${'0'.repeat(16)}.${secret}`, 'handle does not exist'],
      ]
      for (const [token, message] of made) {
        assertEnded(await call(daemon, 'GetWalletInfo', { wallet_handle_token: token }), message)
      }
    })
  })

  test('a lifetime of 1 second expires', async (t) => {
    const daemon = await startHostedDaemon({ args, config: { session_lifetime_secs: 1 } })
    t.after(() => daemon.stop())
    const used = await open(daemon)
    const { json } = await call(daemon, 'GetWalletInfo', used)
    assert.equal(json.wallet_handle.expires_seconds, 0)
    const renewed = await open(daemon)
    await sleep(1100)
    assertEnded(await call(daemon, 'GetWalletInfo', used), 'handle expired')
    assertEnded(await call(daemon, 'GetWalletInfo', used), 'handle does not exist')
    assertEnded(await call(daemon, 'RenewWalletHandleToken', renewed), 'handle expired')
    assert.equal((await call(daemon, 'GetWalletInfo', await open(daemon))).status, 200)
  })
})
