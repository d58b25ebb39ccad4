/** Creates agents whose claims try to take over the terminal, and lists the commands that show them. */
import assert from 'node:assert/strict'
import { Address, Transaction } from '@latchkey/algorand'
import type { Kmd } from './commands.test.helper.js'
import { hostile } from './hostile.test.helper.js'
import type { Run, Table } from './hostileDirectories.test.helper.js'

type Own = { readonly name: string; readonly key: string }

let agents = 0

export type HostileAgent = { readonly agent: string; readonly approval: string; readonly token: string }

/** Creates an agent with a payment that waits for its owner, and with arbitrary claims about it. */
export async function hostileAgent(kmd: Kmd, { name, key }: Own): Promise<HostileAgent> {
  const { id: walletId } = (await kmd.wallets()).find((one) => one.name === name)!
  const genesisHash = new Uint8Array(32).fill(1)
  const network = Buffer.from(genesisHash).toString('base64')
  const limits = [{ per: 'day', network, type: 'amount', amount: '1000000' }]
  const rules = { networks: [network], limits, payees: { allow_all: true }, ask: { above: [{ network, amount: '1' }] } }
  const body = { name: `shown ${agents++}`, wallet_id: walletId, wallet_password: '', addresses: [key], rules }
  const { agent, token } = await kmd.ok('POST', '/latchkey/v1/agents', body)
  const snd = Address.decode(key)
  const transaction = Transaction.encode({ type: 'pay', snd, rcv: snd, amt: 2n, fv: 1n, lv: 1_000n, gh: genesisHash })
  const response = await fetch(`http://${kmd.address}/latchkey/v1/agent/sign`, {
    method: 'POST',
    headers: { 'X-KMD-API-Token': token },
    body: JSON.stringify({
      ...{ transaction: Buffer.from(transaction).toString('base64') },
      ...{ claimed_url: `https://${hostile}`, claimed_description: hostile },
    }),
  })
  assert.equal(response.status, 202)
  const { approval } = (await response.json()) as { approval: { id: string } }
  return { agent: agent.name, approval: approval.id, token }
}

/** Runs each command with its own agent. */
type WithAgent = (
  argsOf: (agent: string, approval: string, own: Own) => readonly string[],
) => (name: string) => Promise<Run[]>

type Files = { readonly transactionOf: (key: string) => string; readonly newFile: () => string }

export function agentCommands(withAgent: WithAgent, { transactionOf, newFile }: Files): Table {
  return {
    'agent list': withAgent(() => []),
    'agent show': withAgent((agent) => [agent]),
    'agent limit': async (name) => [
      ...(await withAgent((agent) => [agent, '--limit', '2 ALGO/day', '--no-password'])(name)),
      ...(await withAgent((agent) => [agent, '--limit', hostile])(name)),
    ],
    'agent test': withAgent((agent, _approval, own) => [agent, transactionOf(own.key)]),
    'agent pause': withAgent((agent) => [agent]),
    'agent resume': withAgent((agent) => [agent, '--no-password']),
    'agent confirm': async (name) => [
      ...(await withAgent(() => ['--no-password'])(name)),
      ...(await withAgent(() => ['--wallet', hostile, '--no-password'])(name)),
    ],
    'agent rotate': withAgent((agent) => [agent, '--no-password', '--token-file', newFile()]),
    'agent revoke': withAgent((agent) => [agent]),
    'approvals list': withAgent(() => []),
    'approvals watch': async (name) => {
      const [honest, json, lying, lyingJson, ...ending] = await withAgent(() => [])(name)
      const asked = [honest!, lying!].map(({ args }) => ({ args, ready: 'Approve this payment?' }))
      const printed = [json!, lyingJson!].map(({ args }) => ({ args, ready: '"claimedUrl":' }))
      return [...asked, ...printed, ...ending]
    },
    'approvals approve': withAgent((_agent, approval) => [approval]),
    'approvals deny': withAgent((_agent, approval) => [approval]),
  }
}
