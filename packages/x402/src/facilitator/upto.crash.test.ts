/** The charge of an authorization is chosen once, even if the facilitator is killed at any step. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Bytes, Ed25519 } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import { Buyer } from '../client/buyer/Buyer.js'
import { dollar, openMarket, requiring } from '../client/buyer/market.test.helper.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'
import { SqliteSettlements } from './store/sqlite/SqliteSettlements.js'

const program = fileURLToPath(new URL('./upto-crashing-process.test.helper.js', import.meta.url))
const steps = ['after record', 'while submitting', 'before record', 'before submit', 'after submit', 'after settle']
/** Each kill takes a process. The default tries every step twice. */
const kills = Number(process.env['LATCHKEY_CRASH_ROUNDS'] ?? 2 * steps.length)

test('killed at any step: the recorded amount is charged once, never another', {
  timeout: 60_000 + 20_000 * kills,
}, async (t) => {
  const { devnet, chain, signer, requirement, payTo } = await openMarket(t)
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-upto-crash-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const seed = new Uint8Array(32).fill(21)
  const sponsor = Signer.fromSeed(seed)
  const secretKey = Bytes.toBase64(Ed25519.keyPairFromSeed(seed).secretKey)
  devnet.fund(sponsor.address, { microAlgos: 1_000_000_000n })
  devnet.fund(signer.address, { assets: [{ assetId: dollar, amount: 1_000_000_000n }] })
  const extra = { feePayer: sponsor.address }
  const upto: PaymentRequirements = { ...requirement, scheme: 'upto', amount: '500000', extra }
  const buyer = new Buyer({ signer, chains: chain })
  const received = async (): Promise<bigint> => (await chain.algod.holding(payTo, dollar))!.amount
  for (let kill = 0; kill < kills; kill++) {
    const step = steps[kill % steps.length]!
    const { payload } = await buyer.pay(requiring(upto))
    const before = await received()
    const store = join(directory, `${kill}.db`)
    const file = join(directory, 'work.json')
    const [first, second] = [`${1_000 + kill}`, `${300_000 + kill}`]
    const requirements = { ...upto, amount: first }
    const work = { nodes: devnet.url, dollarAssetId: `${dollar}`, store, secretKey, payload, requirements, step }
    writeFileSync(file, JSON.stringify(work))
    const child = spawn(process.execPath, [program, file], { stdio: 'inherit' })
    t.after(() => child.kill('SIGKILL'))
    const [, signal] = (await once(child, 'close')) as [unknown, string]
    assert.equal(signal, 'SIGKILL', step)

    const facilitator = new Facilitator({
      chains: [chain],
      feePayer: sponsor,
      store: new SqliteSettlements(store),
      pollMs: 20,
    })
    await facilitator.resume()
    const { success, amount } = await facilitator.settle(payload, { ...upto, amount: second })
    await facilitator.stop()
    const expected = step === 'before record' ? second : first
    assert.deepEqual([success, amount], [true, expected], step)
    assert.equal((await received()) - before, BigInt(expected), step)
  }
})
