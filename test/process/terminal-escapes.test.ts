/**
 * Runs every command in a terminal with strangers who lie: their text is shown, and the terminal obeys none of it. A
 * command that is missing from the table fails the test.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, type TestContext, test } from 'node:test'
import { Address, Ed25519, Multisig, Transaction } from '@latchkey/algorand'
import { type DevnetFacts, latchkeyCommand, signPayment, startDevnet, submit } from '../support/devnet.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { openTerminal } from '../support/terminal.test.helper.js'
import { TerminalHosts } from '../support/terminalHost.test.helper.js'
import { type Kmd, kmdScript, start, suiteScope, temporaryDirectory } from './commands.test.helper.js'
import {
  hostile,
  hostileName,
  hostileSeller,
  lyingDaemon,
  lyingNode,
  marker,
  refusingServer,
  sellerPaths,
  unsafeIn,
} from './hostile.test.helper.js'
import { agentCommands, hostileAgent } from './hostileAgents.test.helper.js'
import { hostileDirectories, operatingCommands, type Run, type Table } from './hostileDirectories.test.helper.js'
import { mcpCommands } from './hostileMcp.test.helper.js'
import { receiptCommands } from './hostileReceipts.test.helper.js'
import { serverCommands } from './hostileServers.test.helper.js'

type Registry = readonly { readonly name: string }[]
const registryUrl = new URL('../../../packages/cli/dist/registry.js', import.meta.url).href
const { registry } = (await import(registryUrl)) as { registry: Registry }

/** A wallet of the honest daemon with a hostile name, for one run. */
type Fixture = { name: string; key: string; multisig: string; dataDir: string; isLying: boolean }

/** Long enough for an overloaded machine; a command that takes longer waits for something that never happens. */
const runTimeoutMs = 60_000

const seed = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const strangers = [7, 8].map((fill) => Ed25519.keyPairFromSeed(seed(fill)).publicKey)

suite('terminal escapes', { timeout: 900_000, concurrency: 3 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const file = (name: string, content: string | Uint8Array): string => {
    const path = join(directory, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  let kmd: Kmd
  let devnet: DevnetFacts
  let node: string
  let refusing: string
  let seller: string
  let liars: { shown: string; all: string; errors: string }
  /** The wallet of all commands that do not change one. A daemon with hundreds of wallets takes long to list them. */
  let shared: Fixture

  before(async () => {
    kmd = await start(scope)
    ;({ facts: devnet } = await startDevnet(scope))
    node = await lyingNode(scope, devnet.url)
    refusing = await refusingServer(scope, 500)
    const sale = { network: devnet.network, asset: '31566704', payTo: devnet.accounts[1]!.address }
    seller = await hostileSeller(scope, sale)
    liars = {
      shown: await lyingDaemon(scope, kmd, 'shown'),
      all: await lyingDaemon(scope, kmd, 'all'),
      errors: await lyingDaemon(scope, kmd, 'errors'),
    }
    shared = await fixture(kmd.dataDir)
  })

  let count = 0
  const { hostileDirectory, fakeDirectory } = hostileDirectories(scope, directory)

  async function fixture(dataDir: string): Promise<Fixture> {
    const name = `${count++}${hostileName}`
    const handle = await kmd.unlock(await kmd.create(name, ''), '')
    const key = await kmd.generate(handle)
    const publicKeys = [Address.decode(key), ...strangers]
    const pks = publicKeys.map((one) => Buffer.from(one).toString('base64'))
    const body = { wallet_handle_token: handle, multisig_version: 1, threshold: 2, pks }
    await kmd.ok('POST', '/v1/multisig/import', body)
    const multisig = Address.encode(Multisig.address({ version: 1, threshold: 2, publicKeys }))
    return { name, key, multisig, dataDir, isLying: dataDir !== kmd.dataDir }
  }

  const sharedIn = async (dataDir: string): Promise<Fixture> => {
    return { ...shared, dataDir, isLying: dataDir !== kmd.dataDir }
  }

  /** Runs a command with an honest daemon that has hostile names, and with lying ones. */
  const runsWith =
    (fixtureIn: (dataDir: string) => Promise<Fixture>) =>
    (argsOf: (fixture: Fixture) => readonly string[]) =>
    async (name: string): Promise<Run[]> => {
      const runs: Run[] = []
      for (const [dataDir, more] of [
        [kmd.dataDir, []],
        [kmd.dataDir, ['--json']],
        [liars.shown, []],
        [liars.shown, ['--json']],
        [liars.all, []],
        [liars.errors, []],
      ] as const) {
        const own = await fixtureIn(dataDir)
        runs.push({ args: [...name.split(' '), ...argsOf(own), '-d', dataDir, ...more], typed: '\r\r\r\r' })
      }
      return runs
    }
  const withDaemon = runsWith(sharedIn)
  /** For commands that change or remove their wallet. */
  const withOwnWallet = runsWith(fixture)

  const withAgent =
    (argsOf: (agent: string, approval: string, own: Fixture) => readonly string[]) =>
    async (name: string): Promise<Run[]> => {
      const runs = await withDaemon(() => [])(name)
      for (const run of runs) {
        const { agent, approval } = await hostileAgent(kmd, shared)
        run.args = [...run.args, ...argsOf(agent, approval, shared)]
      }
      return runs
    }

  const wallet = ({ name, isLying }: Fixture): string[] => ['-w', isLying ? name + hostile : name, '--no-password']
  const named = ({ name, isLying }: Fixture): string => (isLying ? name + hostile : name)
  const chain = (): string[] => ['--network', 'local', '--node', node, '--dollar', '31566704']

  function transactionOf(key: string): string {
    const snd = Address.decode(key)
    const text = new Uint8Array(Buffer.from(hostile))
    const apar = { t: 10n, un: hostileName.slice(0, 8), an: hostileName.slice(0, 20), au: hostile.slice(0, 60) }
    const common = { snd, fee: 1_000n, fv: 1n, lv: 900n, gh: seed(1), gen: hostile.slice(0, 30), note: text }
    return file(`${count++}.txn`, Transaction.encode({ type: 'acfg', ...common, apar } as Transaction.Transaction))
  }

  /** Creates a wallet whose key has ALGO and dollars. */
  async function funded(): Promise<Fixture> {
    const own = await fixture(kmd.dataDir)
    const body = JSON.stringify({ address: own.key, algos: 10, dollars: 5 })
    assert.equal((await fetch(`${devnet.url}/devnet/fund`, { method: 'POST', body })).status, 200)
    return own
  }

  const receiver = (): string => devnet.accounts[1]!.address
  const sending = (): string[] => [
    ...[...chain(), '--yes', '--timeout', '0', '--log', join(directory, `sent${count++}.jsonl`)],
  ]

  /** The commands that send a transaction: with the daemons of `withDaemon`, and from an account that can pay. */
  const withMoney = (argsOf: () => readonly string[], others: () => readonly (readonly string[])[]) => {
    return async (name: string): Promise<Run[]> => {
      const runs = await withDaemon((own) => [...wallet(own), ...argsOf(), ...sending()])(name)
      const own = await funded()
      const base = [...name.split(' '), ...wallet(own), '-d', kmd.dataDir]
      const more = [argsOf(), ...others()].flatMap((args) => [
        { args: [...base, ...sending(), ...args] },
        { args: [...base, ...sending(), ...args, '--json'] },
      ])
      const failing = [
        ['--network', 'local', '--node', refusing],
        [...chain(), '--log', file(`${count++}.jsonl`, `${hostile}\n`)],
      ]
      return [...runs, ...more, ...failing.map((args) => ({ args: [...base, ...argsOf(), '--yes', ...args] }))]
    }
  }

  async function hostileTransaction(): Promise<string> {
    const { mnemonic, address } = devnet.accounts[3]!
    const payment = { from: mnemonic, to: address, microAlgos: 1n, round: 0n, note: `${hostile}${count++}` }
    return submit(devnet.url, signPayment(devnet, payment))
  }

  const table: Table = {
    ...operatingCommands(scope, directory, () => liars.all),
    dev: async () => [
      { args: ['dev', '--any-port', '--', hostile] },
      { args: ['dev', '--any-port', '--', 'true'], env: { TMPDIR: hostileDirectory() } },
    ],
    kmd: async () => {
      const dataDir = join(hostileDirectory(), 'kmd-v0.5')
      const broken = join(hostileDirectory(), 'kmd-v0.5')
      mkdirSync(broken, { mode: 0o700 })
      writeFileSync(join(broken, 'kmd_config.json'), `{"${hostile}": "${hostile}"`)
      return [
        { args: ['kmd', '-d', dataDir], ready: 'Try it:' },
        { args: ['kmd', '-d', dataDir, '--json'], ready: '"pid":' },
        { args: ['kmd', '-d', broken] },
        { args: ['kmd', '-d', dataDir, '--node', hostile] },
      ]
    },
    pay: async () => {
      const env = { AVM_MNEMONIC: devnet.accounts[2]!.mnemonic }
      const runs = sellerPaths.flatMap((path, index) =>
        [[], ['--json']].map((more) => {
          const log = ['--log', join(directory, `pay${index}${more.length}.jsonl`)]
          return { args: ['pay', `${seller}${path}`, '--yes', ...log, ...chain(), ...more], env }
        }),
      )
      const log = file('broken.jsonl', `${hostile}\n{"${hostile}":1}\n`)
      return [
        ...runs,
        { args: ['pay', `${seller}/paid`, ...chain(), '--log', join(directory, 'declined.jsonl')], env, typed: 'n\r' },
        { args: ['pay', `${seller}/paid`, '--yes', ...chain(), '--log', log], env },
        { args: ['pay', `${seller}/paid`, '--yes', '--network', 'local', '--node', refusing], env },
        { args: ['pay', hostile, '--yes', ...chain()], env },
        { args: ['pay', `${seller}/free`, '--output', `/nonexistent/${hostile}`, ...chain()], env },
        { args: ['pay', `${seller}/free`, '--output', file('exists', ''), ...chain()], env },
        { args: ['pay', `${seller}/paid`, '-H', hostile, ...chain()], env },
        {
          args: ['pay', `${seller}/paid`, '-w', hostile, '--key', devnet.accounts[2]!.address, ...chain()],
          typed: '\r',
        },
      ]
    },
    send: withMoney(
      () => ['1 ALGO', receiver()],
      () => [
        ['1 USDC', receiver(), '--note', hostile],
        ['1 NONE', receiver()],
        [`1 ${hostile}`, receiver()],
        [hostile, receiver()],
        ['1 ALGO', hostile],
        ['1 ALGO', receiver(), '--from', hostile],
      ],
    ),
    'opt-in': withMoney(
      () => ['31566704'],
      () => [[hostile], ['31566704', '--account', hostile]],
    ),
    'opt-out': withMoney(
      () => ['31566704'],
      () => [['31566704', '--to', receiver()], [hostile], ['31566704', '--to', hostile]],
    ),
    fund: async () => {
      const stranger = Address.encode(Ed25519.keyPairFromSeed(seed(90 + (count++ % 100))).publicKey)
      return [
        { args: ['fund', stranger, '0.01 ALGO', ...chain()] },
        { args: ['fund', stranger, ...chain()] },
        { args: ['fund', stranger, '1 USDC', ...chain(), '--json'] },
        { args: ['fund', stranger, hostile, ...chain()] },
        { args: ['fund', stranger, `1 ${hostile}`, ...chain()] },
        { args: ['fund', hostile, ...chain()] },
        { args: ['fund', stranger, '--network', 'local', '--node', refusing] },
      ]
    },
    balance: async (name) => {
      const runs = await withDaemon((own) => [...wallet(own), ...chain()])(name)
      const others = [
        [receiver(), ...chain()],
        [receiver(), ...chain(), '--json'],
        [hostile, ...chain()],
      ]
      const failing = [receiver(), '--network', 'local', '--node', refusing]
      return [...runs, ...[...others, failing].map((args) => ({ args: ['balance', ...args] }))]
    },
    tx: async () => {
      const id = await hostileTransaction()
      const unknown = 'A'.repeat(52)
      return [
        { args: ['tx', id, ...chain()] },
        { args: ['tx', id, ...chain(), '--json'] },
        { args: ['tx', hostile, ...chain()] },
        { args: ['tx', id, '--network', 'local', '--node', refusing] },
        { args: ['tx', unknown, ...chain(), '--indexer', refusing] },
        { args: ['tx', unknown, ...chain(), '--indexer', hostile] },
        { args: ['tx', unknown, ...chain(), '--log', file(`${count++}.jsonl`, `${hostile}\n`)] },
      ]
    },
    'contact add': async (name) => {
      const address = (): string => Address.encode(Ed25519.keyPairFromSeed(seed(count++ % 250)).publicKey)
      return [
        ...(await withDaemon(() => [`label ${count++}`, address()])(name)),
        { args: ['contact', 'add', hostile, address(), '-d', kmd.dataDir] },
        { args: ['contact', 'add', 'label', hostile, '-d', kmd.dataDir] },
      ]
    },
    'contact list': async (name) => {
      await kmd.ok('POST', '/latchkey/v1/contact', {
        address: receiver(),
        label: Buffer.from('Shop').toString('base64'),
      })
      return withDaemon(() => [])(name)
    },
    'contact delete': async (name) => {
      const runs = await withDaemon(() => [receiver()])(name)
      return [...runs, { args: ['contact', 'delete', hostile, '-d', kmd.dataDir] }]
    },
    'audit tail': withDaemon(() => []),
    'audit search': withDaemon(() => [hostileName]),
    'audit export': withDaemon(() => []),
    'audit verify': async (name) => {
      const files = join(hostileDirectory(), 'kmd-v0.5')
      mkdirSync(files, { mode: 0o700 })
      writeFileSync(join(files, 'latchkey_state.db'), hostile.repeat(500))
      return [
        ...(await withDaemon(() => ['--by-daemon'])(name)),
        { args: ['audit', 'verify', '-d', kmd.dataDir] },
        { args: ['audit', 'verify', '-d', files] },
        { args: ['audit', 'verify', '-d', files, '--anchor', hostile] },
        { args: ['audit', 'verify', '-d', kmd.dataDir, '--anchor', await hostileTransaction(), ...chain()] },
      ]
    },
    'audit anchor': withMoney(
      () => [],
      () => [['--from', hostile]],
    ),
    'wallet new': withDaemon(() => [`${count++}${hostileName}`, '--no-password']),
    'wallet list': withDaemon(() => []),
    'wallet backup': withDaemon((own) => [named(own), '--no-password', '--yes']),
    'wallet recover': withDaemon(() => {
      const words = `${'abandon '.repeat(24)}invest`
      return [`${count++}${hostileName}`, '--no-password', '--mnemonic-file', file('words', `${words}\n`)]
    }),
    'wallet rename': withOwnWallet((own) => [named(own), `${count++}${hostileName}`, '--no-password']),
    'wallet password': withOwnWallet((own) => [named(own), '--no-password', '--no-new-password']),
    'wallet delete': withOwnWallet((own) => [named(own), '--no-password']),
    'key new': withDaemon(wallet),
    'key list': withDaemon((own) => [...wallet(own), ...chain()]),
    'key import': withDaemon((own) => {
      const key = Ed25519.keyPairFromSeed(seed(count++ + 20)).secretKey
      return [...wallet(own), '--secret-key-file', file(`${count}.key`, Buffer.from(key).toString('base64'))]
    }),
    'key export': withDaemon((own) => [...wallet(own), own.key, '--yes']),
    'key delete': withOwnWallet((own) => [...wallet(own), own.key, '--yes']),
    'multisig new': withDaemon((own) => [...wallet(own), '-t', '1', own.key, ...strangers.map(Address.encode)]),
    'multisig list': withDaemon(wallet),
    'multisig show': withDaemon((own) => [...wallet(own), own.multisig]),
    'multisig delete': withOwnWallet((own) => [...wallet(own), own.multisig]),
    'agent new': withDaemon((own) => {
      const limits = ['--limit', '1 ALGO/day', '--limit', '1 asset 7/day']
      return [`agent ${count++}`, ...wallet(own), '--key', own.key, ...limits, ...chain()]
    }),
    ...agentCommands(withAgent, {
      transactionOf,
      newFile: () => join(directory, `${count++}.token`),
    }),
    ...receiptCommands({ file: (content) => file(`${count++}.jsonl`, content), receiver }),
    ...mcpCommands({
      ...{
        file,
        hostileDirectory,
        chain,
        refusing: () => refusing,
        dataDirs: () => ({ honest: kmd.dataDir, ...liars }),
      },
      tokenFile: async () => {
        const { token } = await hostileAgent(kmd, shared)
        return file(`${count++}.token`, token)
      },
    }),
    sign: async (name) => {
      const runs = await withDaemon((own) => [...wallet(own), transactionOf(own.key), '--yes', '--allow-warnings'])(
        name,
      )
      const own = await fixture(kmd.dataDir)
      const others = [
        [transactionOf(Address.encode(strangers[0]!)), '--yes'],
        [transactionOf(own.key), '--key', Address.encode(strangers[0]!), '--yes'],
        [file(hostileName, hostile)],
        [`/nonexistent/${hostile}`],
        [transactionOf(own.key), '--yes', '--submit', '--network', 'local', '--node', node],
        [transactionOf(own.key), '--yes', '--submit', '--network', 'local', '--node', refusing],
      ]
      return [...runs, ...others.map((args) => ({ args: ['sign', ...wallet(own), '-d', kmd.dataDir, ...args] }))]
    },
    ...serverCommands({
      ...{ directory, devnet: () => devnet, file, chain, receiver },
      ...{ node: () => node, refusing: () => refusing, seller: () => seller },
    }),
    console: withDaemon(() => []),
    'token rotate': async () => {
      const dataDir = await fakeDirectory()
      return [[], ['--json']].map((more) => ({ args: ['token', 'rotate', '-d', dataDir, ...more] }))
    },
    doctor: async () => {
      const env = {
        FACILITATOR_URL: `${refusing}/${hostile}`,
        KMD_KEY: devnet.accounts[2]!.address,
        AVM_MNEMONIC: hostile,
        // Its own colours are escapes, too.
        NO_COLOR: '1',
      }
      const directories = [liars.shown, liars.all, liars.errors, await fakeDirectory(), `/nonexistent/${hostile}`]
      return directories.flatMap((dataDir) =>
        [[...chain(), '--json'], ['--network', 'local', '--node', refusing], chain()].map((more) => ({
          args: ['doctor', '-d', dataDir, ...more],
          env,
        })),
      )
    },
    completions: async () => [
      { args: ['completions', 'bash'] },
      { args: ['completions', 'zsh'] },
      { args: ['completions', 'fish'] },
      { args: ['completions', hostile] },
    ],
  }

  /** Commands whose output contains no text of strangers. */
  const withoutStrangers = ['completions', 'trigger']

  /** Commands that serve until they are stopped, or read their input. */
  const servers = /^(dev|devnet|kmd|facilitator|gateway|proxy|listen|approvals watch)$/
  const hosts = new TerminalHosts(scope, directory)

  const environmentOf = (run: Run): { [name: string]: string } => {
    return { PATH: process.env['PATH'] ?? '', HOME: directory, TERM: 'xterm', ...run.env }
  }

  /** Runs a command in a process that has run others. */
  async function runHosted(run: Run): Promise<string> {
    const screen = await hosts.run({ args: run.args, env: environmentOf(run), typed: run.typed })
    checkScreen(screen, run)
    return screen
  }

  async function runIn(t: TestContext, program: string, run: Run): Promise<string> {
    const env = environmentOf(run)
    const terminal = openTerminal(t, [process.execPath, program, ...run.args], { env })
    if (run.typed !== undefined) terminal.type(run.typed)
    if (run.ready !== undefined) {
      await terminal.sees(run.ready)
      await run.meanwhile?.(terminal.screen())
      process.kill(await terminal.pid(), 'SIGTERM')
    }
    const giveUp = setTimeout(async () => process.kill(await terminal.pid(), 'SIGKILL'), runTimeoutMs)
    const { code } = await terminal.ended
    clearTimeout(giveUp)
    assert.notEqual(code, 128 + 9, `it did not end: ${run.args.join(' ')}`)
    const screen = terminal.screen()
    checkScreen(screen, run)
    return screen
  }

  function checkScreen(screen: string, { args }: Run): void {
    assert.deepEqual(unsafeIn(screen), [], args.join(' ').slice(0, 300))
    // A separate line would pass for one of the command's. Only the body of a paid response contains lines of others.
    if (args[0] !== 'pay') assert.doesNotMatch(screen, /^latchkey: FAKE/m, args.join(' ').slice(0, 300))
  }

  /** The first command of each group, like `wallet new`: the others start in the same way. */
  const firsts = new Map(registry.toReversed().map(({ name }) => [name.split(' ')[0]!, name]))

  for (const { name } of registry) {
    test(`A13 ${name} shows untrusted text, and the terminal obeys none of it`, {
      skip: missingProgram('python3'),
    }, async (t) => {
      const runs = await table[name]?.(name)
      assert.ok(runs !== undefined, `add ${name} to the table of this test, with everything strange that it can show`)
      runs.push({ args: [...name.split(' '), `--${hostile}`] })
      if (!withoutStrangers.includes(name))
        runs.push({ args: [...name.split(' '), '--json', hostile, hostile, hostile] })
      let isShown = false
      const queue = [...runs.entries()]
      for (const [index, run] of queue) {
        // The first run of a group has its own process, as on a user's machine.
        const isFirst = index === 0 && firsts.get(name.split(' ')[0]!) === name
        const isHosted = !isFirst && run.ready === undefined && !servers.test(name)
        const screen = isHosted ? await runHosted(run) : await runIn(t, latchkeyCommand, run)
        isShown ||= index < runs.length - 2 && screen.includes(marker)
      }
      assert.equal(isShown, !withoutStrangers.includes(name), 'the hostile text did not come so far')
    })
  }

  test('A13 the table has no other commands', () => {
    assert.deepEqual(Object.keys(table).sort(), registry.map(({ name }) => name).sort())
  })

  test('A13 latchkey and kmd themselves', { skip: missingProgram('python3') }, async (t) => {
    for (const args of [[hostile], ['help', hostile], ['wallet', hostile], [`--${hostile}`]]) {
      await runIn(t, latchkeyCommand, { args })
    }
    for (const args of [[`--${hostile}`], ['-d', `/nonexistent/${hostile}`], ['-t', hostile], [`-${hostile}`], []]) {
      await runIn(t, kmdScript, { args })
    }
  })

  test('A13 kmd.log has a line for each event and nothing that a terminal obeys', {
    skip: missingProgram('python3'),
  }, async (t) => {
    const dataDir = join(hostileDirectory(), 'kmd-v0.5')
    mkdirSync(dataDir, { mode: 0o700 })
    writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ address: hostile }))
    await runIn(t, kmdScript, { args: ['-d', dataDir] })
    const log = readFileSync(join(dataDir, 'kmd.log'), 'utf8')
    assert.match(log, new RegExp(marker))
    assert.deepEqual(unsafeIn(log), [])
    for (const line of log.trimEnd().split('\n')) assert.match(line, /^time="[^"]+" level=\w+ msg=".*"$/)
  })
})
