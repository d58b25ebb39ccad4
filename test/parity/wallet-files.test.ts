/**
 * Wallet files are compatible with the Go daemon in both directions. Its databases open here and give all recorded
 * values. The files we write are parsed by a reader that shares no code with the daemon, and compared with files of the
 * Go daemon.
 */
import assert from 'node:assert/strict'
import { createHmac, createPrivateKey, createPublicKey } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { makeDataDir, removeDataDir, startHostedDaemon, type TestDaemon } from '../support/daemon.test.helper.js'
import { derived, goldenDir, masterKey, readGolden } from '../support/golden.test.helper.js'
import * as Msgpack from '../support/msgpack.test.helper.js'
import { openBlob, passwordKey, readWalletFile, type WalletFile } from '../support/walletFile.test.helper.js'

type Key = { address: string; private_key_b64: string }

type GoldenWallet = {
  tag: string
  file: string
  wallet_id: string
  wallet_name: string
  password: string
  scrypt: { scrypt_n: number; scrypt_r: number; scrypt_p: number }
  master_derivation_key_b64: string
  generated: (Key & { index: number })[]
  deleted_generated_index: number
  imported: Key
  key_list_order: string[]
  next_generated_address: string
  multisig: { version: number; threshold: number; pks_b64: string[]; address: string }
  vectors: { [name: string]: string }
}

const goldenWallets = readGolden<GoldenWallet[]>('wallets.json')

suite('wallets of the Go daemon', () => {
  let daemon: TestDaemon
  const dir = makeDataDir()

  before(async () => {
    mkdirSync(join(dir, 'sqlite_wallets'), { mode: 0o700 })
    for (const { file } of goldenWallets) {
      copyFileSync(join(goldenDir, file), join(dir, 'sqlite_wallets', basename(file)))
    }
    daemon = await startHostedDaemon({ dir })
  })
  after(async () => {
    await daemon?.stop()
    removeDataDir(dir)
  })

  const post = async (path: string, body: unknown) => {
    const { status, json, text } = await daemon.call('POST', path, body)
    assert.equal(status, 200, text)
    return json
  }

  test('are listed by file name', async () => {
    const { json } = await daemon.call('GET', '/v1/wallets')
    const listed = json.wallets.map(({ id, name }: { id: string; name: string }) => ({ id, name }))
    assert.equal(goldenWallets.length, 2)
    assert.deepEqual(
      listed,
      goldenWallets.map(({ wallet_id, wallet_name }) => ({ id: wallet_id, name: wallet_name })),
    )
  })

  for (const wallet of goldenWallets) {
    suite(wallet.tag, () => {
      const { vectors, multisig } = wallet
      const password = { wallet_password: wallet.password }
      let handle: { wallet_handle_token: string }

      before(async () => {
        const wrong = { wallet_id: wallet.wallet_id, wallet_password: `${wallet.password}x` }
        assert.equal((await daemon.call('POST', '/v1/wallet/init', wrong)).status, 401)
        handle = await post('/v1/wallet/init', { wallet_id: wallet.wallet_id, ...password })
      })

      test('list keys in the recorded order', async () => {
        assert.deepEqual(await post('/v1/key/list', handle), { addresses: wallet.key_list_order })
      })

      test('export keys as recorded', async () => {
        const kept = wallet.generated.filter(({ index }) => index !== wallet.deleted_generated_index)
        assert.equal(kept.length, 2)
        for (const { address, private_key_b64 } of [...kept, wallet.imported]) {
          const exported = await post('/v1/key/export', { ...handle, ...password, address })
          assert.deepEqual(exported, { private_key: private_key_b64 })
        }
      })

      test('do not contain the deleted key', async () => {
        const { address } = wallet.generated.find(({ index }) => index === wallet.deleted_generated_index)!
        const { status, json } = await daemon.call('POST', '/v1/key/export', { ...handle, ...password, address })
        assert.deepEqual(
          { status, json },
          { status: 400, json: { error: true, message: 'key does not exist in this wallet' } },
        )
      })

      test('export the master derivation key as recorded', async () => {
        assert.deepEqual(await post('/v1/master-key/export', { ...handle, ...password }), {
          master_derivation_key: wallet.master_derivation_key_b64,
        })
      })

      test('list and export the multisig as recorded', async () => {
        assert.deepEqual(await post('/v1/multisig/list', handle), { addresses: [multisig.address] })
        assert.deepEqual(await post('/v1/multisig/export', { ...handle, address: multisig.address }), {
          multisig_version: multisig.version,
          pks: multisig.pks_b64,
          threshold: multisig.threshold,
        })
      })

      test('sign transactions as recorded', async () => {
        const request = { ...handle, ...password, transaction: vectors['tx_b64'] }
        assert.deepEqual(await post('/v1/transaction/sign', request), { signed_transaction: vectors['signed_tx_b64'] })
        // The vector's name counts from 0, so it was signed with the second key.
        const withKey = { ...request, public_key: publicKey(wallet.generated[1]!.address) }
        assert.deepEqual(await post('/v1/transaction/sign', withKey), {
          signed_transaction: vectors['signed_tx_with_public_key_1_b64'],
        })
      })

      test('sign a program as recorded', async () => {
        const { address } = wallet.generated[0]!
        const request = { ...handle, ...password, address, data: vectors['program_b64'] }
        assert.deepEqual(await post('/v1/program/sign', request), { sig: vectors['program_sig_b64'] })
      })

      test('sign a multisig transaction as recorded, by either member', async () => {
        const request = { ...handle, ...password, transaction: vectors['msig_tx_b64'] }
        const first = await post('/v1/multisig/sign', { ...request, public_key: multisig.pks_b64[0] })
        assert.deepEqual(first, { multisig: vectors['msig_first_b64'] })
        const second = await post('/v1/multisig/sign', {
          ...request,
          public_key: multisig.pks_b64[1],
          partial_multisig: partialOf(vectors['msig_first_b64']!),
        })
        assert.deepEqual(second, { multisig: vectors['msig_second_b64'] })
      })

      test('sign a multisig program as recorded, in the new and in the legacy form', async () => {
        const request = {
          ...handle,
          ...password,
          address: multisig.address,
          data: vectors['program_b64'],
          public_key: multisig.pks_b64[0],
        }
        assert.deepEqual(await post('/v1/multisig/signprogram', request), { multisig: vectors['msig_program_new_b64'] })
        assert.deepEqual(await post('/v1/multisig/signprogram', { ...request, use_legacy_msig: true }), {
          multisig: vectors['msig_program_legacy_b64'],
        })
      })

      test('generate the recorded next key and remain files of the Go daemon', async () => {
        assert.deepEqual(await post('/v1/key', handle), { address: wallet.next_generated_address })
        const before = readWalletFile(join(goldenDir, wallet.file))
        const now = readWalletFile(join(dir, 'sqlite_wallets', basename(wallet.file)))
        assert.deepEqual(now.layout, before.layout)
        assert.deepEqual(now.types, before.types)
        assert.deepEqual(now.masterKey, before.masterKey)
        assert.equal(now.keys.length, before.keys.length + 1)
        assert.notDeepEqual(now.maxKeyIndex, before.maxKeyIndex)
      })
    })
  }
})

suite('a wallet of ours', () => {
  const dir = makeDataDir()
  const password = 'pass word ☂'
  const seed = Buffer.alloc(32, 7)
  const members = [derived[0], derived[1], '5JFGYY7CTRJAVPXVKB5RGLWF7GKUO5VOX27HXESCD3VGSFCG2IWAKDM5YU']
  const walletsDir = join(dir, 'sqlite_wallets')
  let id: string
  let file: WalletFile
  /** Another wallet, which was never renamed, and which was not written to since a key was deleted. */
  let plainId: string
  let opened: Buffer
  const goldenFile = readWalletFile(join(goldenDir, goldenWallets[0]!.file))

  before(async () => {
    const daemon = await startHostedDaemon({ dir })
    try {
      const send = async (method: string, target: string, body: unknown) => {
        const { status, json, text } = await daemon.call(method, target, body)
        assert.equal(status, 200, text)
        return json
      }
      const { wallet } = await send('POST', '/v1/wallet', {
        wallet_name: 'first name ✂',
        wallet_driver_name: 'sqlite',
        wallet_password: password,
        master_derivation_key: masterKey.toString('base64'),
      })
      id = wallet.id
      const handle = await send('POST', '/v1/wallet/init', { wallet_id: id, wallet_password: password })
      for (const address of derived.slice(0, 3)) assert.deepEqual(await send('POST', '/v1/key', handle), { address })
      await send('DELETE', '/v1/key', { ...handle, wallet_password: password, address: derived[2] })
      await send('POST', '/v1/key/import', { ...handle, private_key: seed.toString('base64') })
      await send('POST', '/v1/multisig/import', {
        ...handle,
        multisig_version: 1,
        threshold: 2,
        pks: members.map(publicKey),
      })
      await send('POST', '/v1/wallet/rename', { wallet_id: id, wallet_password: password, wallet_name: 'second ✂' })

      const plain = await send('POST', '/v1/wallet', {
        wallet_name: 'plain',
        wallet_driver_name: 'sqlite',
        master_derivation_key: masterKey.toString('base64'),
      })
      plainId = plain.wallet.id
      const plainHandle = await send('POST', '/v1/wallet/init', { wallet_id: plainId })
      for (const address of derived.slice(0, 3)) {
        assert.deepEqual(await send('POST', '/v1/key', plainHandle), { address })
      }
      await send('DELETE', '/v1/key', { ...plainHandle, address: derived[2] })
    } finally {
      await daemon.stop()
    }
    const names = readdirSync(walletsDir).sort()
    assert.deepEqual(names, [`firstname.${id}.db`, `plain.${plainId}.db`], 'named by the first name, nothing beside')
    file = readWalletFile(join(walletsDir, names[0]!))
    opened = openBlob(file.masterKey, passwordKey(file.masterKey, password), 'master_key')
  })
  after(() => removeDataDir(dir))

  test('has the tables and settings of the Go daemon', () => {
    assert.deepEqual(file.layout, goldenFile.layout)
    assert.equal(file.layout['page_size'], 4096)
    assert.equal(file.layout['journal_mode'], 'delete')
    assert.equal(file.layout['user_version'], 0)
  })

  test('stores every column in the type of the Go daemon', () => {
    assert.deepEqual(file.types, goldenFile.types)
    assert.deepEqual(file.types, {
      'metadata.driver_name': ['text'],
      'metadata.driver_version': ['integer'],
      'metadata.wallet_id': ['blob'],
      'metadata.wallet_name': ['blob'],
      'metadata.mep_encrypted': ['blob'],
      'metadata.mdk_encrypted': ['blob'],
      'metadata.max_key_idx_encrypted': ['blob'],
      'keys.address': ['blob'],
      'keys.secret_key_encrypted': ['blob'],
      'keys.key_idx': ['integer', 'null'],
      'msig_addrs.address': ['blob'],
      'msig_addrs.version': ['integer'],
      'msig_addrs.threshold': ['integer'],
      'msig_addrs.pks': ['blob'],
    })
  })

  test('stores its name unencrypted', () => {
    assert.deepEqual(file.driver, ['sqlite', 1])
    assert.equal(file.id, id)
    assert.equal(file.name, 'second ✂')
  })

  test('encrypts its master key with the password', () => {
    const { masterKey: blob } = file
    assert.equal(blob.doScrypt, true)
    assert.deepEqual(blob.scrypt, { N: 2, r: 1, p: 32 })
    assert.notDeepEqual(blob.salt, Buffer.alloc(32))
    assert.equal(blob.ciphertext.length, 87)
    assert.equal(blob.ciphertext.length, goldenFile.masterKey.ciphertext.length)
    assert.equal(opened.length, 32)
    assert.throws(() => openBlob(blob, passwordKey(blob, `${password}x`), 'master_key'), /does not open/)
  })

  test('encrypts the master derivation key and the greatest index with the master key', () => {
    const { masterDerivationKey, maxKeyIndex } = file
    assert.equal(masterDerivationKey.doScrypt, false)
    assert.equal(maxKeyIndex.doScrypt, false)
    assert.deepEqual(openBlob(masterDerivationKey, opened, 'master_derivation_key'), masterKey)
    // The third key was deleted; the count does not go back.
    assert.deepEqual(openBlob(maxKeyIndex, opened, 'max_key_idx'), Buffer.from([3]))
    assert.equal(masterDerivationKey.ciphertext.length, goldenFile.masterDerivationKey.ciphertext.length)
    assert.equal(maxKeyIndex.ciphertext.length, goldenFile.maxKeyIndex.ciphertext.length)
  })

  test('stores each key as 66 bytes encrypted with the master key', () => {
    const expected = new Map<string, { seed: Buffer; index: number | null }>([
      [derived[0], { seed: deriveSeed(1), index: 1 }],
      [derived[1], { seed: deriveSeed(2), index: 2 }],
      [members[2]!, { seed, index: null }],
    ])
    assert.equal(file.keys.length, 3)
    for (const { address, secretKey, index } of file.keys) {
      const key = expected.get(algosdk.encodeAddress(address))
      assert.ok(key, `unexpected key ${address.toString('hex')}`)
      assert.equal(index, key.index)
      assert.equal(secretKey.doScrypt, false)
      const plaintext = openBlob(secretKey, opened, 'secret_key')
      assert.deepEqual(plaintext, Buffer.concat([Buffer.from([0xc4, 0x40]), key.seed, address]))
      assert.deepEqual(ed25519PublicKey(key.seed), address)
      assert.equal(secretKey.ciphertext.length, goldenFile.keys[0]!.secretKey.ciphertext.length)
    }
  })

  test('uses each nonce only once', () => {
    const blobs = [file.masterKey, file.masterDerivationKey, file.maxKeyIndex, ...file.keys.map((key) => key.secretKey)]
    assert.equal(new Set(blobs.map(({ nonce }) => nonce.toString('hex'))).size, blobs.length)
  })

  test('stores the multisig unencrypted', () => {
    const address = algosdk.multisigAddress({ version: 1, threshold: 2, addrs: members })
    assert.deepEqual(file.multisigs, [
      {
        address: Buffer.from(address.publicKey),
        version: 1,
        threshold: 2,
        publicKeys: members.map((member) => Buffer.from(algosdk.decodeAddress(member).publicKey)),
      },
    ])
  })

  test('stores its name with the same type before it is renamed', () => {
    const plain = readWalletFile(join(walletsDir, `plain.${plainId}.db`))
    assert.deepEqual([plain.id, plain.name], [plainId, 'plain'])
    assert.deepEqual(plain.layout, goldenFile.layout)
    assert.deepEqual(plain.types['metadata.wallet_name'], ['blob'])
  })

  test('contains no trace of a deleted key or of any secret', () => {
    const secrets = [masterKey, opened, seed, deriveSeed(1), deriveSeed(2), deriveSeed(3), Buffer.from(password)]
    const [kept, deleted] = [derived[1], derived[2]].map((address) => algosdk.decodeAddress(address).publicKey)
    for (const name of readdirSync(walletsDir)) {
      const bytes = readFileSync(join(walletsDir, name))
      for (const secret of secrets) assert.equal(bytes.indexOf(secret), -1)
      assert.notEqual(bytes.indexOf(kept!), -1)
      assert.equal(bytes.indexOf(deleted!), -1, `${name} still holds the deleted key`)
    }
  })
})

suite('derivation', () => {
  type Vectors = { mdk_hex: string; keys: { index: string; seed_hex: string; address: string }[] }[]
  const wallets = readGolden<Vectors>('derivation-vectors.json')
  let daemon: TestDaemon

  before(async () => {
    daemon = await startHostedDaemon()
  })
  after(() => daemon?.stop())

  for (const [number, { mdk_hex, keys }] of wallets.entries()) {
    test(`recorded master derivation key ${number + 1} of ${wallets.length}`, async () => {
      const created = await daemon.call('POST', '/v1/wallet', {
        wallet_name: mdk_hex.slice(0, 8) + number,
        wallet_driver_name: 'sqlite',
        master_derivation_key: Buffer.from(mdk_hex, 'hex').toString('base64'),
      })
      const opened = await daemon.call('POST', '/v1/wallet/init', { wallet_id: created.json.wallet.id })
      const handle = opened.json
      const recorded = new Map(keys.map((key) => [Number(key.index), key]))
      let checked = 0
      // The daemon counts from 1. The tests of the derivation itself check higher indexes.
      for (let index = 1; index <= 11; index++) {
        const { json } = await daemon.call('POST', '/v1/key', handle)
        const key = recorded.get(index)
        if (key === undefined) continue
        assert.equal(json.address, key.address)
        const exported = await daemon.call('POST', '/v1/key/export', { ...handle, address: key.address })
        const privateKey = Buffer.from(exported.json.private_key, 'base64')
        assert.equal(privateKey.subarray(0, 32).toString('hex'), key.seed_hex)
        checked++
      }
      assert.equal(checked, keys.filter(({ index }) => index !== '0' && BigInt(index) <= 11n).length)
      assert.ok(checked >= 8, `only ${checked} recorded indexes were met`)
    })
  }
})

function publicKey(address: string): string {
  return Buffer.from(algosdk.decodeAddress(address).publicKey).toString('base64')
}

/** Computes HKDF's second step, once: HMAC of the label, the index and a counter of one. */
function deriveSeed(index: number): Buffer {
  return createHmac('sha512-256', masterKey).update(`AlgorandDeterministicKey-${index}\x01`).digest()
}

function ed25519PublicKey(seed: Buffer): Buffer {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const key = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
  return key.export({ format: 'der', type: 'spki' }).subarray(-32)
}

/** Returns a multisig signature in the format of the reference's partial_multisig. */
function partialOf(multisig: string): { [name: string]: unknown } {
  const { names, members } = Msgpack.parseMap(Buffer.from(multisig, 'base64'))
  assert.deepEqual(names, ['subsig', 'thr', 'v'])
  const subsig = Msgpack.items(members.get('subsig')).map((node) => {
    assert.ok(node.type === 'map')
    return Object.fromEntries(node.entries.map(([name, value]) => [name, Msgpack.bin(value).toString('base64')]))
  })
  return { subsig, thr: Msgpack.uint(members.get('thr')), v: Msgpack.uint(members.get('v')) }
}
