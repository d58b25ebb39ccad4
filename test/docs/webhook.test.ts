/** The receiver of docs/agents.md accepts what the daemon sends, and nothing that is forged, changed or replayed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { Kmd, KmdClientError } from '@latchkey/kmd-client'
import { atEnd, start, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { blocksOf } from './Blocks.test.helper.js'

const genesisHash = new Uint8Array(32).fill(3)
const network = Buffer.from(genesisHash).toString('base64')

test('the receiver accepts events of the daemon, also after downtime, and refuses everything else', async (t) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/approvals`
  const kmd = await start(t, { settings: { approval_webhook: url } })
  const secretFile = join(kmd.dataDir, 'latchkey_webhook.secret')
  assert.equal(statSync(secretFile).mode & 0o777, 0o600)
  const secret = readFileSync(secretFile, 'utf8').trim()

  const owner = await Kmd.connect({ dataDir: kmd.dataDir })
  atEnd(t, () => owner.close())
  const walletId = await kmd.create('purse', '')
  const address = await kmd.generate(await kmd.unlock(walletId, ''))
  const { token } = await owner.agents.create({
    ...{ name: 'asker', walletId, addresses: [address] },
    rules: {
      networks: [network],
      limits: [{ per: 'day', network, type: 'amount', assetId: 0n, amount: 1_000_000n }],
      payees: { allow: 'all' },
      ask: { above: [{ network, assetId: 0n, amount: 1n }] },
    },
  })
  const agent = await Kmd.asAgent({ address: kmd.address, token })
  atEnd(t, () => agent.close())
  const snd = Address.decode(address)
  const payment = Transaction.encode({ type: 'pay', snd, rcv: snd, amt: 2n, fv: 1n, lv: 1_000n, gh: genesisHash })
  // Nothing listens yet, so the event is sent again.
  const asked: unknown = await agent.sign(payment).catch((error: unknown) => error)
  assert.ok(asked instanceof KmdClientError)
  const id = asked.approvalId!

  const [block] = blocksOf('docs/agents.md').filter(({ text }) => text.includes('latchkey-signature'))
  const program = join(temporaryDirectory(t), 'receiver.mjs')
  writeFileSync(program, block!.text)
  const env = { PATH: process.env['PATH'], PORT: String(port), WEBHOOK_SECRET: secret }
  const receiver = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  atEnd(t, () => receiver.kill('SIGKILL'))
  let said = ''
  receiver.stdout.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  await until('the first message', () => said.includes(`approval.open ${id} asker `))
  await owner.approvals.deny({ id })
  await until('the decision', () => said.includes(`approval.denied ${id} asker `))

  const post = async (body: string, signature: string): Promise<number> => {
    const response = await fetch(url, { method: 'POST', body, headers: { 'Latchkey-Signature': signature } })
    return response.status
  }
  const seconds = Math.floor(Date.now() / 1000)
  const bodyOf = (name: string): string =>
    JSON.stringify({ type: 'approval.approved', approval: { id, agent_name: name, description: [] } })
  const body = bodyOf('forger')
  const sign = (at: number, text = body, key = secret): string =>
    `t=${at},v1=${createHmac('sha256', Buffer.from(key, 'hex')).update(`${at}.${text}`).digest('hex')}`
  assert.equal(await post(body, sign(seconds, `${body} `)), 401, 'another body')
  assert.equal(await post(body, sign(seconds, body, '11'.repeat(32))), 401, 'another secret')
  assert.equal(await post(body, sign(seconds - 600)), 401, 'an old one')
  for (const signature of ['', 't=1', `${sign(seconds)}0`, sign(seconds).replace('v1=', 'v0=')]) {
    assert.equal(await post(body, signature), 401, signature)
  }
  const last = bodyOf('documented')
  assert.equal(await post(last, sign(seconds, last)), 204, 'the signature is the documented one')
  await until('the last message', () => said.includes('documented'))
  assert.equal(said.includes('forger'), false)
})
