/**
 * Kills the daemon during writes, repeatedly: acknowledged changes are present, every file is intact, and the next start
 * works. LATCHKEY_CRASH_ROUNDS sets the number of kills.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Address, Ed25519, KeyDerivation } from '@latchkey/algorand'
import { DatabaseSync } from '@photostructure/sqlite'
import { dataDirectory, type Kmd, sleep, start } from './commands.test.helper.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 20)
/** Two data directories, killed in parallel. */
const lanes = 2

/** The expected content of a wallet. A requested change without a response may be there or not. */
type Expected = {
  id: string
  masterDerivationKey: Buffer
  /** The acknowledged addresses. */
  keys: Set<string>
  names: Set<string>
  passwords: Set<string>
  /** The requested imports. */
  attempted: Set<string>
  changes: number
}

test(`${rounds} kills lose nothing`, { timeout: 120_000 + rounds * 10_000 }, async (t) => {
  const counts = { acknowledged: 0, cutOff: 0 }
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const dataDir = dataDirectory(t)
      const wallets: Expected[] = []
      for (let round = lane; round < rounds; round += lanes) {
        const kmd = await start(t, { dataDir })
        for (const wallet of wallets) await verify(kmd, wallet)
        if (wallets.length < 3) wallets.push(await makeWallet(kmd, `${lane}-${round}`))
        await writeUntilKilled(kmd, wallets, round, counts)
        checkIntegrity(dataDir)
      }
      const kmd = await start(t, { dataDir })
      for (const wallet of wallets) await verify(kmd, wallet)
      assert.equal(await kmd.stop(), 0)
      // An unused journal may be left; SQLite removes it with the next change.
      const rest = readdirSync(join(dataDir, 'sqlite_wallets')).filter((name) => !/\.db(-journal)?$/.test(name))
      assert.deepEqual(rest, [])
    }),
  )
  assert.ok(counts.acknowledged >= rounds, `only ${counts.acknowledged} changes in ${rounds} rounds`)
  // This depends on chance: in few rounds there may be none.
  assert.ok(counts.cutOff >= Math.floor(rounds / 10), `only ${counts.cutOff} changes were cut off`)
  t.diagnostic(`${counts.acknowledged} changes acknowledged, ${counts.cutOff} cut off`)
})

async function makeWallet(kmd: Kmd, name: string): Promise<Expected> {
  const masterDerivationKey = Buffer.from(name.padEnd(32, '.'))
  const id = await kmd.create(name, 'p0', { master_derivation_key: masterDerivationKey.toString('base64') })
  return {
    id,
    masterDerivationKey,
    keys: new Set(),
    names: new Set([name]),
    passwords: new Set(['p0']),
    attempted: new Set(),
    changes: 0,
  }
}

/** Several clients write at once; the moment of the kill varies from round to round. */
async function writeUntilKilled(
  kmd: Kmd,
  wallets: Expected[],
  round: number,
  counts: { acknowledged: number; cutOff: number },
): Promise<void> {
  let killed = false
  let begun = (): void => {}
  const writing = new Promise<void>((resolve) => {
    begun = resolve
  })
  const acknowledge = (): void => {
    counts.acknowledged++
    begun()
  }
  const client = async (wallet: Expected) => {
    const handle = await kmd.unlock(wallet.id, [...wallet.passwords][0]!)
    while (!killed) {
      for (const change of [generate, importKey, generate, rename]) {
        if (killed) return
        await change(kmd, wallet, handle)
        acknowledge()
      }
    }
  }
  const passwords = async (wallet: Expected) => {
    while (!killed) {
      await changePassword(kmd, wallet)
      acknowledge()
    }
  }
  // The last wallet's password is changed, which ends its handles; the others are written to through one handle.
  const [changing, ...written] = [...wallets].reverse()
  const clients = [passwords(changing!), ...written.map(client)].map((work) =>
    work.catch((error: NodeJS.ErrnoException) => {
      begun()
      if (!killed || error.code === 'ERR_ASSERTION') throw error
      counts.cutOff++
    }),
  )
  const kill = async (): Promise<void> => {
    await writing
    await sleep((round * 37) % 150)
    killed = true
    await kmd.stop('SIGKILL')
  }
  await Promise.all([...clients, kill()])
}

async function generate(kmd: Kmd, wallet: Expected, handle: string): Promise<void> {
  wallet.keys.add(await kmd.generate(handle))
}

async function importKey(kmd: Kmd, wallet: Expected, handle: string): Promise<void> {
  const seed = Buffer.alloc(32)
  seed.writeUInt32BE(++wallet.changes)
  seed.write(wallet.id, 4)
  wallet.attempted.add(Address.encode(Ed25519.publicKey(seed)))
  const body = { wallet_handle_token: handle, private_key: seed.toString('base64') }
  wallet.keys.add((await kmd.ok('POST', '/v1/key/import', body)).address)
}

async function rename(kmd: Kmd, wallet: Expected): Promise<void> {
  const wallet_name = `${wallet.id.slice(0, 8)} ${++wallet.changes}`
  wallet.names.add(wallet_name)
  const [wallet_password] = wallet.passwords
  await kmd.ok('POST', '/v1/wallet/rename', { wallet_id: wallet.id, wallet_password, wallet_name })
  wallet.names = new Set([wallet_name])
}

async function changePassword(kmd: Kmd, wallet: Expected): Promise<void> {
  const new_wallet_password = `p${++wallet.changes}`
  const [wallet_password] = wallet.passwords
  wallet.passwords.add(new_wallet_password)
  const body = { wallet_id: wallet.id, wallet_password, new_wallet_password }
  await kmd.ok('POST', '/latchkey/v1/wallet/password', body)
  wallet.passwords = new Set([new_wallet_password])
}

/**
 * Acknowledged changes are present; others are complete or absent. Changes that are found are expected from then on.
 */
async function verify(kmd: Kmd, wallet: Expected): Promise<void> {
  const name = (await kmd.wallets()).find(({ id }) => id === wallet.id)?.name
  assert.ok(name !== undefined && wallet.names.has(name), `name ${name}, not one of ${[...wallet.names]}`)
  wallet.names = new Set([name])
  const handle = await unlockByAny(kmd, wallet)
  const listed = new Set(await kmd.keys(handle))
  for (const key of wallet.keys) assert.ok(listed.has(key), `${key} is lost`)
  const generated = [...listed].filter((key) => !wallet.attempted.has(key))
  const sequence = generated.map((_, index) =>
    Address.encode(Ed25519.publicKey(KeyDerivation.seed(wallet.masterDerivationKey, index + 1))),
  )
  assert.deepEqual(generated.sort(), sequence.sort(), 'the generated keys are not the first of the sequence')
  wallet.keys = listed
  const [one] = listed
  if (one === undefined) return
  const [wallet_password] = wallet.passwords
  const exported = await kmd.ok('POST', '/v1/key/export', {
    wallet_handle_token: handle,
    address: one,
    wallet_password,
  })
  assert.equal(Address.encode(Buffer.from(exported.private_key, 'base64').subarray(32)), one)
}

async function unlockByAny(kmd: Kmd, wallet: Expected): Promise<string> {
  for (const password of wallet.passwords) {
    const { status, json } = await kmd.tryUnlock(wallet.id, password)
    if (status !== 200) continue
    wallet.passwords = new Set([password])
    return json.wallet_handle_token
  }
  assert.fail(`none of ${wallet.passwords.size} passwords opens the wallet`)
}

/** Checks the remaining files as another program sees them, including journals. */
function checkIntegrity(dataDir: string): void {
  const directory = join(dataDir, 'sqlite_wallets')
  for (const file of readdirSync(directory).filter((name) => name.endsWith('.db'))) {
    const database = new DatabaseSync(join(directory, file))
    const found = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
    assert.deepEqual(
      found.map(({ integrity_check }) => integrity_check),
      ['ok'],
      file,
    )
    database.close()
  }
}
