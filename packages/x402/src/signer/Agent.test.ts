/** Runs against a real daemon in this process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Address, type Transaction } from '@latchkey/algorand'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd-client'
import { UptoPayment } from '@latchkey/x402-wire'
import { fromAgent } from './Agent.js'
import * as Signer from './Signer.js'

const timeout = 30_000
const gh = new Uint8Array(32).fill(1)
const network = Buffer.from(gh).toString('base64')

function payment(sender: string, amt: bigint): Transaction.Transaction {
  return { type: 'pay', snd: Address.decode(sender), rcv: new Uint8Array(32).fill(2), amt, fee: 1_000n, lv: 900n, gh }
}

test('signs within the limits of the agent, and waits for its owner’s approval', { timeout }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-agent-signer-'))
  const drivers = { sqlite: { scrypt: { scrypt_n: 2 }, allow_unsafe_scrypt: true }, ledger: { disable: true } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: '127.0.0.1:0', drivers }))
  const daemon = await Daemon.start({ dataDir, wire: 'documented', limits: { stopMs: 100 } })
  t.after(async () => {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const kmd = await Kmd.connect({ dataDir })
  const { id: walletId } = await kmd.wallets.create({ name: 'purse', password: '' })
  const wallet = await kmd.unlock({ id: walletId })
  const addresses = [await wallet.generateKey(), await wallet.generateKey()]
  const limit = { per: 'day', network, type: 'amount', amount: 1_000_000n } as const
  const limits = [0n, 5n].map((assetId) => ({ ...limit, assetId }))
  const ask = { above: [{ network, assetId: 0n, amount: 100_000n }] }
  const rules = { networks: [network], limits, payees: { allow: 'all' as const }, ask }
  const { token } = await kmd.agents.create({ name: 'shopper', walletId, password: '', addresses, rules })
  const agent = await Kmd.asAgent({ dataDir, token })
  t.after(() => agent.close())
  const [address] = addresses as [string, string]
  await assert.rejects(fromAgent({ agent }), { code: 'signer_key_missing', message: /has several keys/ })
  const stranger = Signer.fromSeed(new Uint8Array(32).fill(3)).address
  await assert.rejects(fromAgent({ agent, address: stranger }), { code: 'signer_key_missing' })

  const signer = await fromAgent({ agent, address })
  await signer.check!()
  assert.ok((await Signer.signTransaction(signer, payment(address, 1n))).length > 0)
  const beyond = Signer.signTransaction(signer, payment(address, 2_000_000n))
  await assert.rejects(beyond, { code: 'agent_limit_exceeded' })
  await assert.rejects(Signer.signTransaction(signer, payment(address, 200_000n)), { code: 'agent_approval_required' })

  const authorization = (maxAmount: bigint) => {
    const [payTo, facilitator] = [4, 5].map((byte) => Address.encode(new Uint8Array(32).fill(byte))) as [string, string]
    const rounds = { lastRound: 10n, isPublicNetwork: false, maxTimeoutSeconds: 60 }
    const order = { payer: address, payTo, facilitator, assetId: 5n, maxAmount, genesisHash: gh, ...rounds }
    return UptoPayment.buildAuthorization(order)
  }
  const upto = authorization(600_000n)
  const payload = await Signer.signAuthorization(signer, upto)
  assert.equal(UptoPayment.read(payload).id, upto.id)
  assert.deepEqual(await Signer.signAuthorization(signer, upto), payload, 'not counted again')
  const tooMuch = Signer.signAuthorization(signer, authorization(400_001n))
  await assert.rejects(tooMuch, { code: 'agent_limit_exceeded' })

  const seen: string[] = []
  const waiting = await fromAgent({ agent, address, approvalWaitMs: 20_000, onApproval: (id) => seen.push(id) })
  const purpose = { url: 'https://shop.example/', description: 'a report' }
  const pending = Signer.signTransaction(waiting, payment(address, 200_001n), purpose)
  while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const approval = (await kmd.approvals.list()).approvals.find(({ id }) => id === seen[0])
  assert.deepEqual([approval?.claimedUrl, approval?.claimedDescription], [purpose.url, purpose.description])
  await kmd.approvals.approve({ id: seen[0]! })
  assert.ok((await pending).length > 0)

  const abort = new AbortController()
  const given = Signer.signTransaction(waiting, payment(address, 200_002n), { signal: abort.signal })
  while (seen.length === 1) await new Promise((resolve) => setTimeout(resolve, 5))
  abort.abort(new Error('given up'))
  await assert.rejects(given)
  kmd.close()
})
