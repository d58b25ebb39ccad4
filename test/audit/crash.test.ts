/**
 * The log of a daemon that is killed, or whose disk is full, verifies and contains everything that left the daemon:
 * keys of the owner and signatures of an agent.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Address, Bytes, Transaction } from '@latchkey/algorand'
import { AuditFile } from '@latchkey/kmd'
import { atEnd, dataDirectory, type Json, Kmd, temporaryDirectory } from '../process/commands.test.helper.js'
import { startDaemon } from '../support/daemon.test.helper.js'

const rounds = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 6)

async function start(t: TestContext, dataDir: string, env: NodeJS.ProcessEnv = {}): Promise<Kmd> {
  const daemon = await startDaemon({ dir: dataDir, config: null, token: null, env })
  atEnd(t, () => daemon.child.kill('SIGKILL'))
  return new Kmd(daemon)
}

async function readLog(dataDir: string): Promise<Json[]> {
  const file = AuditFile.open(dataDir)
  try {
    const { problem } = await file.verify()
    assert.equal(problem, undefined, problem?.message)
    const records: Json[] = []
    for (let afterNumber: number | undefined = 0; afterNumber !== undefined; ) {
      const found = await file.search({ afterNumber, count: 1_000 })
      records.push(...found.records)
      afterNumber = found.continueFrom
    }
    return records
  } finally {
    file.close()
  }
}

const network = Buffer.alloc(32, 7)

/** An agent with a limit that it does not reach. */
type TestAgent = { readonly token: string; readonly address: string }

async function makeAgent(kmd: Kmd, wallet: string, address: string): Promise<TestAgent> {
  const genesis = network.toString('base64')
  const limits = [{ per: 'total', network: genesis, type: 'amount', asset_id: '0', amount: '1000000000' }]
  const rules = { networks: [genesis], limits, payees: { allow_all: true } }
  const grant = { name: 'shopper', wallet_id: wallet, wallet_password: 'secret', addresses: [address], rules }
  const { token } = await kmd.ok('POST', '/latchkey/v1/agents', grant)
  return { token, address }
}

let payments = 0

/** Requests a signature of a new payment. Returns its id if the response contains the signature. */
async function signOne(
  kmd: Kmd,
  { token, address }: TestAgent,
): Promise<{ status: number; id: string; code: unknown }> {
  const sender = Address.decode(address)
  const amt = BigInt(++payments)
  const bytes = Transaction.encode({
    type: 'pay',
    snd: sender,
    rcv: sender,
    amt,
    fee: 1000n,
    fv: 1n,
    lv: 9n,
    gh: network,
  })
  const body = { transaction: Bytes.toBase64(bytes) }
  const { status, headers, json } = await kmd.call('POST', '/latchkey/v1/agent/sign', body, { token })
  assert.equal(json?.signed_transaction !== undefined, status === 200)
  return { status, id: Transaction.id(bytes), code: headers['latchkey-error'] }
}

const signedIn = (records: readonly Json[]): Set<string> =>
  new Set(records.filter(({ event }) => event === 'transaction_signed').map(({ transaction }) => transaction))

suite('audit log', { timeout: 600_000 }, () => {
  test('SIGKILL at any moment leaves a log that verifies and contains every key and signature that left', async (t) => {
    const dataDir = dataDirectory(t)
    const exported: string[] = []
    const signed: string[] = []
    let wallet: string | undefined
    let agent: TestAgent | undefined
    for (let round = 0; round < rounds; round++) {
      const kmd = await start(t, dataDir)
      wallet ??= await kmd.create('w', 'secret')
      const handle = await kmd.unlock(wallet, 'secret')
      agent ??= await makeAgent(kmd, wallet, await kmd.generate(handle))
      let isKilled = false
      const sign = async (granted: TestAgent): Promise<void> => {
        while (!isKilled) {
          const { status, id } = await signOne(kmd, granted)
          if (status === 200) signed.push(id)
        }
      }
      const work = async (): Promise<void> => {
        while (!isKilled) {
          const made = await kmd.call('POST', '/v1/key', { wallet_handle_token: handle })
          const { address } = made.json
          const body = { wallet_handle_token: handle, wallet_password: 'secret', address }
          const response = await kmd.call('POST', '/v1/key/export', body)
          if (response.status === 200) exported.push(address)
        }
      }
      const before = [exported.length, signed.length] as const
      const granted = agent
      const tasks = [work, work, ...Array.from({ length: 6 }, () => () => sign(granted))]
      const workers = tasks.map((task) => task().catch(() => {}))
      while (exported.length < before[0] + 2 + round || signed.length < before[1] + 5 + round * 3) {
        await new Promise((resolve) => setImmediate(resolve))
      }
      process.kill(kmd.pid, 'SIGKILL')
      isKilled = true
      await kmd.exited
      await Promise.all(workers)
      const records = await readLog(dataDir)
      const recorded = new Set(records.filter(({ event }) => event === 'key_exported').map(({ address }) => address))
      for (const address of exported) assert.ok(recorded.has(address), `${address} left without a record`)
      const recordedIds = signedIn(records)
      for (const id of signed) assert.ok(recordedIds.has(id), `the signature of ${id} left without a record`)
    }
    const last = await readLog(dataDir)
    assert.ok(!last.some(({ event }) => event === 'log_damaged'))
  })

  /** Simulates a full disk: no file of the daemon can grow beyond this size. */
  function fullDisk(t: TestContext, kilobytes: number): NodeJS.ProcessEnv {
    const bin = join(temporaryDirectory(t), 'bin')
    mkdirSync(bin)
    const script = `#!/bin/bash\nulimit -f ${kilobytes}\nexec ${process.execPath} "$@"\n`
    writeFileSync(join(bin, 'node'), script, { mode: 0o755 })
    return { PATH: `${bin}:${process.env['PATH'] ?? ''}` }
  }

  test('on a full disk, no key or signature leaves without a record, the owner can still work, and the log verifies', async (t) => {
    const dataDir = dataDirectory(t, { log_level: 'error' })
    const first = await start(t, dataDir)
    const wallet = await first.create('w', 'secret')
    const address = await first.generate(await first.unlock(wallet, 'secret'))
    const agent = await makeAgent(first, wallet, address)
    assert.equal(await first.stop(), 0)
    const kmd = await start(t, dataDir, fullDisk(t, 600))
    const handle = await kmd.unlock(wallet, 'secret')
    const body = { wallet_handle_token: handle, wallet_password: 'secret', address }
    const signed: string[] = []
    let exports = 0
    let refused: Json
    while (refused === undefined) {
      const signing = Promise.all(Array.from({ length: 10 }, () => signOne(kmd, agent)))
      const exporting = Promise.all(Array.from({ length: 10 }, () => kmd.call('POST', '/v1/key/export', body)))
      for (const { status, id, code } of await signing) {
        if (status === 200) signed.push(id)
        else assert.deepEqual([status, code], [503, 'state_not_written'])
      }
      const responses = await exporting
      exports += responses.filter(({ status }) => status === 200).length
      refused = responses.find(({ status }) => status !== 200)
      assert.ok(exports < 20_000, 'the disk never became full')
    }
    assert.deepEqual([refused.status, refused.headers['latchkey-error']], [503, 'state_not_written'])
    assert.equal(refused.json.private_key, undefined)
    assert.equal((await kmd.tryUnlock(wallet, 'secret')).status, 200)
    const metrics = await kmd.call('GET', '/latchkey/v1/metrics')
    assert.match(metrics.text, /^latchkey_lost_audit_records [1-9]/m)
    process.kill(kmd.pid, 'SIGKILL')
    await kmd.exited
    const records = await readLog(dataDir)
    assert.ok(records.filter(({ event }) => event === 'key_exported').length >= exports)
    const recordedIds = signedIn(records)
    for (const id of signed) assert.ok(recordedIds.has(id), `the signature of ${id} left without a record`)
    const again = await start(t, dataDir)
    await again.unlock(wallet, 'secret')
    const { status, id } = await signOne(again, agent)
    assert.equal(status, 200)
    assert.equal(await again.stop(), 0)
    const last = (await readLog(dataDir)).at(-1)
    assert.deepEqual([last.event, last.transaction], ['transaction_signed', id])
  })
})
