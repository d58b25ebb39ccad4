/**
 * Fields above the limit of every network are rejected, for the owner and for agents. Fields that one network accepts
 * are signed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Msgpack } from '@latchkey/algorand'
import { genesisHash, makeAgent, password } from '../testing/agents.test.helper.js'
import { createApp } from '../testing/TestApp.test.helper.js'

/** Written by hand, because the encoder rejects the same fields. */
function transaction(sender: string, { note = 0, gen = 0 }: { note?: number; gen?: number }): string {
  const writer = new Msgpack.Writer().mapHeader(6 + (note > 0 ? 1 : 0) + (gen > 0 ? 1 : 0))
  writer.str('fee').uint(1_000n)
  if (gen > 0) writer.str('gen').str('g'.repeat(gen))
  writer.str('gh').bin(genesisHash).str('lv').uint(1_000n)
  if (note > 0) writer.str('note').bin(new Uint8Array(note))
  writer.str('rcv').bin(Buffer.alloc(32, 9)).str('snd').bin(Address.decode(sender)).str('type').str('pay')
  return Buffer.from(writer.bytes()).toString('base64')
}

test('a note of 4,096 bytes, valid since consensus v42, is signed, and a longer one is rejected', async (t) => {
  const app = createApp(t)
  const agent = await makeAgent(app)
  for (const [field, status] of [
    [{ note: 2_000 }, 200],
    [{ note: 4_096 }, 200],
    [{ note: 4_097 }, 400],
    [{ gen: 128 }, 200],
    [{ gen: 129 }, 400],
  ] as const) {
    const bytes = transaction(agent.address, field)
    const owner = { wallet_handle_token: agent.ownerHandle, wallet_password: password, transaction: bytes }
    const signed = await app.post('/v1/transaction/sign', owner)
    assert.equal(signed.status, status, `${JSON.stringify(field)}: ${signed.text}`)
    const asAgent = await agent.post('/latchkey/v1/agent/sign', { transaction: bytes })
    assert.equal(asAgent.status, status, `${JSON.stringify(field)}: ${asAgent.text}`)
    if (status === 400) assert.match(asAgent.json.message, /^could not decode transaction/)
  }
})
