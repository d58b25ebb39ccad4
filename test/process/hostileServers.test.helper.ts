/** The commands that serve, sell and forward, with everything strange that they can show. */
import { hostile } from './hostile.test.helper.js'
import type { Table } from './hostileDirectories.test.helper.js'

export type ServerFixture = {
  readonly file: (name: string, content: string) => string
  /** The options of the chain. */
  readonly chain: () => string[]
  readonly receiver: () => string
  /** A node that lies, a server that refuses everything, and a hostile seller. */
  readonly node: () => string
  readonly refusing: () => string
  readonly seller: () => string
}

export function serverCommands({ file, chain, receiver, node, refusing, seller }: ServerFixture): Table {
  return {
    'devnet accounts': async () =>
      [
        ['--node', node()],
        ['--node', refusing()],
        ['--node', hostile],
        [hostile, '--node', node()],
      ].map((args) => ({
        args: ['devnet', 'accounts', ...args],
      })),
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
