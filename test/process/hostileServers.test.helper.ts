/** The commands that serve, sell and forward, with everything strange that they can show. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type DevnetFacts, signPayment, submit } from '../support/devnet.test.helper.js'
import { hostile } from './hostile.test.helper.js'
import type { Table } from './hostileDirectories.test.helper.js'

export type ServerFixture = {
  readonly directory: string
  readonly devnet: () => DevnetFacts
  readonly file: (name: string, content: string) => string
  /** The options of the chain. */
  readonly chain: () => string[]
  readonly receiver: () => string
  /** A node that lies, a server that refuses everything, and a hostile seller. */
  readonly node: () => string
  readonly refusing: () => string
  readonly seller: () => string
}

export function serverCommands(fixture: ServerFixture): Table {
  const { directory, devnet, file, chain, receiver, node, refusing, seller } = fixture
  return {
    devnet: async () => {
      const pay = async (screen: string): Promise<void> => {
        const [, url] = /Address +(\S+)/.exec(screen)!
        const { mnemonic, address } = devnet().accounts[0]!
        const payment = { from: mnemonic, to: address, microAlgos: 1n, round: 0n, note: hostile }
        await submit(url!, signPayment(devnet(), payment))
        await submit(url!, signPayment(devnet(), { ...payment, round: 9_999n, note: hostile })).catch(() => {})
        await fetch(`${url}/v2/${encodeURIComponent(hostile)}`, { method: 'POST', body: hostile })
      }
      return [
        { args: ['devnet', '-p', '0', '--verbose'], ready: 'Try it:', meanwhile: pay },
        { args: ['devnet', '-p', '0', '--token', hostile], ready: 'Try it:' },
        { args: ['devnet', '-p', '0', '--token', hostile, '--json'], ready: '"pid":' },
        { args: ['devnet', '-p', '0', '--load', file('dump', hostile)] },
        { args: ['devnet', '-p', '0', '--state', file('state', hostile)] },
        { args: ['devnet', '-p', '0', '--host', hostile] },
      ]
    },
    facilitator: async () => {
      const env = { AVM_MNEMONIC: devnet().accounts[0]!.mnemonic }
      const base = ['facilitator', '--port', '0', '--store']
      return [
        { args: [...base, join(directory, 'f1.db'), ...chain()], env, ready: 'Try it:' },
        { args: [...base, join(directory, 'f2.db'), '--network', 'local', '--node', refusing()], env },
        { args: [...base, file('f3.db', hostile), ...chain()], env },
        { args: [...base, join(directory, 'f4.db'), '--api-keys-file', `/nonexistent/${hostile}`, ...chain()], env },
        { args: [...base, join(directory, 'f5.db'), '--pay-to', hostile, ...chain()], env },
        { args: [...base, join(directory, 'f6.db'), ...chain(), '-w', hostile, '--key', hostile], env },
      ]
    },
    'facilitator migrate': async () => {
      const base = ['facilitator', 'migrate']
      return [
        { args: base, env: { LATCHKEY_FACILITATOR_STORE: `postgres://127.0.0.1:1/${encodeURIComponent(hostile)}` } },
        { args: [...base, '--store', 'postgres://127.0.0.1:1/shop', '--grant-to', hostile, '--json'] },
        { args: [...base, '--store', hostile] },
        { args: [...base, '--store-file', file('address', hostile), '--check'] },
      ]
    },
    'devnet accounts': async () =>
      [
        ['--node', node()],
        ['--node', refusing()],
        ['--node', hostile],
        [hostile, '--node', node()],
      ].map((args) => ({
        args: ['devnet', 'accounts', ...args],
      })),
    find: async () => {
      const catalogue = await hostileCatalogue(receiver())
      return [
        ['--facilitator', catalogue],
        ['--facilitator', catalogue, '--json'],
        [hostile, '--facilitator', catalogue],
        ['--facilitator', refusing()],
        ['--facilitator', seller()],
        ['--facilitator', hostile],
        ['--facilitator', catalogue, '--network', hostile],
        ['--facilitator', catalogue, '--pay-to', hostile],
        ['--facilitator', catalogue, '--limit', hostile],
      ].map((args) => ({ args: ['find', ...args] }))
    },
    gateway: async () => {
      const given = ['--upstream', refusing(), '--facilitator', refusing(), ...chain()]
      const settings = file('gateway.json', JSON.stringify({ [hostile]: 1 }))
      const prices = [hostile, `GET /${hostile}=$1`, `GET /=${hostile}`]
      return [
        ...prices.map((price) => ({ args: ['gateway', '--price', price, '--pay-to', receiver(), ...given] })),
        { args: ['gateway', '--price', 'GET /=$1', '--pay-to', hostile, ...given] },
        { args: ['gateway', '--price', 'GET /=$1', '--free', hostile, '--pay-to', receiver(), ...given] },
        { args: ['gateway', '--upstream', hostile, '--price', '/=$1', '--facilitator', refusing(), ...chain()] },
        { args: ['gateway', '--config', settings] },
        { args: ['gateway', '--config', `/nonexistent/${hostile}`] },
      ]
    },
    proxy: async () => [
      { args: ['proxy', '--to', hostile] },
      { args: ['proxy', '--to', seller(), '--agent-token-file', file('hostile.token', hostile)] },
      { args: ['proxy', '--to', seller(), '--agent-token-file', `/nonexistent/${hostile}`] },
    ],
    listen: async () => [
      { args: ['listen', '--seller', refusing()] },
      { args: ['listen', '--seller', hostile] },
      { args: ['listen', '--seller', `${refusing()}/${hostile}`] },
      { args: ['listen', '--forward-to', hostile] },
      { args: ['listen', '--only', hostile] },
    ],
    trigger: async () => [
      { args: ['trigger', hostile] },
      { args: ['trigger', 'settled', '-d', `/nonexistent/${hostile}`] },
    ],
  }
}

/** Starts a facilitator whose catalogue has hostile text everywhere, until the process ends. */
async function hostileCatalogue(payTo: string): Promise<string> {
  const offer = { scheme: 'exact', network: hostile, amount: '5', asset: hostile, payTo, maxTimeoutSeconds: 60 }
  const resource = `https://shop.example/${hostile}`
  const item = { resource, resourceUrl: resource, type: 'http', accepts: [offer], description: hostile }
  const more = { serviceName: hostile, tags: [hostile], metadata: { description: hostile }, method: hostile }
  const items = [{ ...item, ...more }]
  const server = createServer((_, response) => response.end(JSON.stringify({ items, resources: items })))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  server.unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
