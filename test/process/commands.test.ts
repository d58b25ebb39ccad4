/** Tests what all commands have in common: help with an example, one line for invalid usage, documented exit codes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey, latchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { suiteScope, temporaryDirectory } from './commands.test.helper.js'

const home = temporaryDirectory(suiteScope())

const run = (args: readonly string[], env: { [name: string]: string } = {}): Promise<Outcome> =>
  hostedLatchkey(args, { home, env })

/** Returns the names of the commands in the help. */
async function listed(): Promise<string[]> {
  const { stdout } = await run(['help', 'all'])
  const [, table] = /\nCommands:\n([\s\S]*?)\n\n/.exec(stdout)!
  return table!
    .split('\n')
    .filter((line) => /^ {2}\S/.test(line))
    .map((line) => line.trim().split(/ {2,}/)[0]!)
}

suite('every command', () => {
  test('is listed in the help', async () => {
    const names = await listed()
    const expected = [
      'dev',
      'kmd',
      'devnet',
      'facilitator',
      'pay',
      'sign',
      'console',
      'doctor',
      'completions',
      'mcp',
      'mcp install',
    ]
    const money = ['send', 'opt-in', 'opt-out', 'fund', 'balance', 'tx', 'sales']
    const groups = ['wallet new', 'wallet list', 'wallet rename', 'wallet password', 'wallet delete', 'wallet backup']
    const keys = ['wallet recover', 'key new', 'key list', 'key import', 'key export', 'key delete', 'token rotate']
    const contacts = ['contact add', 'contact list', 'contact delete']
    for (const name of [...expected, ...contacts, ...money, ...groups, ...keys]) assert.ok(names.includes(name), name)
  })

  test('shows its usage, an example and its exit codes with --help and help', async () => {
    for (const name of await listed()) {
      const words = name.split(' ')
      const { code, stdout, stderr } = await run([...words, '--help'])
      assert.deepEqual([code, stderr], [0, ''], name)
      assert.ok(stdout.includes(`Usage:\n  latchkey ${name}`), name)
      const [, examples = ''] = /\nExamples?:\n((?: {2}.*\n)+)/.exec(stdout) ?? []
      assert.ok(examples.includes(`latchkey ${name}`), `${name} has no example`)
      assert.match(stdout, /\nExit codes: 0, [0-9, ]+ \(see latchkey help exit-codes\)\n$/)
      for (const line of stdout.split('\n')) assert.ok(line.length <= 120, line)
      assert.equal((await run(['help', ...words])).stdout, stdout, name)
    }
  })

  test('exits with 2 for an unknown option, with one line that names the help', async () => {
    for (const name of await listed()) {
      const { code, stdout, stderr } = await run([...name.split(' '), '--nonsense'])
      const line = `latchkey ${name}: unknown option --nonsense; see latchkey ${name} --help\n`
      assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: line })
    }
  })

  test('is listed by the name of its group', async () => {
    for (const args of [['wallet'], ['wallet', '--help'], ['help', 'wallet']]) {
      const { code, stdout } = await run(args)
      assert.equal(code, 0)
      assert.match(stdout, /^ {2}wallet new {2}/m)
      assert.doesNotMatch(stdout, /facilitator/)
    }
  })
})

suite('environment and exit codes', () => {
  test('help documents every variable and every exit code', async () => {
    const environment = await run(['help', 'environment'])
    for (const name of ['KMD_DATA_DIR', 'KMD_PASSWORD_FILE', 'AVM_MNEMONIC', 'ALGOD_TOKEN'])
      assert.match(environment.stdout, new RegExp(`^  ${name} `, 'm'))
    const codes = await run(['help', 'exit-codes'])
    const found = [...codes.stdout.matchAll(/^ {2}([0-9]+) +\S/gm)].map(([, code]) => Number(code))
    // Each code is covered by a test: 0, 2, 3 and 5 here, 1 with pay and sign, 4 with kmd, 6 with wallets, 7 with send
    // and tx, 8 with facilitator migrate, 9 with audit verify, 130 at prompts.
    assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130])
  })

  test('exits with 5 without a daemon', async () => {
    for (const args of [['wallet', 'list'], ['key', 'list', '--wallet', 'x', '--no-password'], ['console']]) {
      const { code, stdout, stderr } = await run(args)
      assert.deepEqual([code, stdout], [5, ''], stderr)
      assert.match(stderr, /^latchkey [a-z ]+: [^\n]*no (?:key )?daemon is running in [^\n]+\n$/)
    }
  })

  test('a closed pipe is not an error', { skip: missingProgram('bash') }, async () => {
    const line = `"$NODE" "$LATCHKEY" completions bash | head -1; echo "\${PIPESTATUS[0]}"`
    const env = { ...process.env, NODE: process.execPath, LATCHKEY: latchkeyCommand }
    const [stdout, stderr] = await new Promise<string[]>((resolve) => {
      execFile('bash', ['-c', line], { env, timeout: 60_000 }, (_, out, err) => resolve([out, err]))
    })
    assert.deepEqual([stdout, stderr], ['# bash completion for latchkey\n0\n', ''])
  })
})

suite('latchkey completions', () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const script = `source <("$NODE" "$LATCHKEY" completions bash); compopt() { :; }
      COMP_WORDS=(latchkey "$@"); COMP_CWORD=$#; _latchkey; printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = { ...process.env, NODE: process.execPath, LATCHKEY: latchkeyCommand }
    return await new Promise((resolve, reject) => {
      execFile('bash', ['-c', script, 'bash', ...words], { env, timeout: 60_000 }, (error, stdout, stderr) =>
        error || stderr !== '' ? reject(new Error(stderr)) : resolve(stdout.trim().split('\n')),
      )
    })
  }

  test('completes commands, subcommands, options and their values in bash', {
    skip: missingProgram('bash'),
  }, async () => {
    assert.deepEqual(await complete('wal'), ['wallet'])
    assert.ok((await complete('wallet', '')).includes('backup'))
    assert.deepEqual(await complete('kmd', '--wi'), ['--wire'])
    assert.deepEqual(await complete('kmd', '--wire', ''), ['documented', 'reference'])
    assert.deepEqual(await complete('kmd', '--wire', 'd'), ['documented'])
    assert.deepEqual(await complete('help', 'ex'), ['exit-codes'])
    assert.deepEqual(await complete('pay', 'http://x', '--ma'), ['--max', '--max-bytes'])
  })

  test('the scripts for zsh and fish contain every command and option', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { code, stdout } = await run(['completions', shell])
      assert.equal(code, 0)
      for (const name of await listed()) assert.ok(stdout.includes(name), `${shell}: ${name}`)
      assert.match(stdout, shell === 'zsh' ? /'--password-file\[.*\]:FILE:_files'/ : /-l password-file -r -d /)
    }
    assert.equal((await run(['completions', 'tcsh'])).code, 2)
  })
})

suite('latchkey doctor', () => {
  type Finding = { state: string; text: string; cure?: string }
  const diagnose = async (args: string[], environment: { [name: string]: string } = {}) => {
    const { code, stdout } = await run(['doctor', '--json', ...args], environment)
    return { code, findings: (JSON.parse(stdout) as { findings: Finding[] }).findings }
  }
  const find = (findings: Finding[], pattern: RegExp): Finding => {
    const found = findings.find(({ text }) => pattern.test(text))
    assert.ok(found, `${pattern}: ${JSON.stringify(findings)}`)
    return found
  }

  test('names the fix of a fault and exits with 3', async () => {
    const { code, stdout } = await run(['doctor', '-d', join(home, 'nothing')])
    assert.equal(code, 3)
    assert.match(stdout, /^ok {7}Node /m)
    assert.match(stdout, /^fault {4}\S+nothing does not exist\n {9}cure: create it and start the daemon: latchkey kmd/m)
  })

  test('warns about a readable directory and token and about open settings', async () => {
    const directory = join(home, 'open')
    mkdirSync(directory, { mode: 0o755 })
    writeFileSync(join(directory, 'kmd.token'), 'a'.repeat(64), { mode: 0o644 })
    const settings = { allowed_origins: ['*'], address: '0.0.0.0:7833' }
    writeFileSync(join(directory, 'kmd_config.json'), JSON.stringify(settings))
    const { code, findings } = await diagnose(['-d', directory])
    assert.equal(code, 3)
    for (const pattern of [
      /other users can read \S+open$/,
      /other users can read .*kmd\.token/,
      /LocalNet/,
      /any web page may call the daemon/,
      /0\.0\.0\.0/,
    ])
      assert.equal(find(findings, pattern).state, 'warning')
    assert.match(find(findings, /the daemon is not running/).cure!, /^start it: latchkey kmd -d \S+$/)
    writeFileSync(join(directory, 'kmd_config.json'), '{')
    assert.equal(find((await diagnose(['-d', directory])).findings, /is not JSON/).state, 'fault')
  })

  test('warns about secrets in the environment without printing them, and reports services that do not respond', async () => {
    const environment = {
      AVM_MNEMONIC: 'abandon ability',
      KMD_PASSWORD: 'hunter2',
      FACILITATOR_URL: 'http://127.0.0.1:9',
    }
    const { findings } = await diagnose(['--network', 'local', '--node', 'http://127.0.0.1:9'], environment)
    assert.equal(find(findings, /^AVM_MNEMONIC is in the environment/).state, 'warning')
    assert.equal(find(findings, /^KMD_PASSWORD is in the environment/).state, 'warning')
    assert.equal(find(findings, /facilitator at .* does not respond/).state, 'fault')
    assert.equal(find(findings, /no node responds/).state, 'fault')
    assert.doesNotMatch(JSON.stringify(findings), /abandon|hunter2/)
  })

  test('finds no fault in a running stack', async () => {
    const inside = [process.execPath, latchkeyCommand, 'doctor', '--json']
    const { code, stdout } = await latchkey(['dev', '--any-port', '--', ...inside], { home })
    assert.equal(code, 0, stdout)
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    assert.match(find(findings, /the daemon .* is running/).text, /2 wallets/)
    for (const pattern of [
      /^a node of the local network \(algorand:\S+\) responds/,
      /^[A-Z2-7]{8}… has 5 USDC|has 5 /,
      /^the facilitator at .* serves the local network \(algorand:\S+\)$/,
    ])
      assert.equal(find(findings, pattern).state, 'ok')
    // Its token is public and its key derivation fast by design, so there is nothing to repair.
    for (const pattern of [
      /^the API token is LocalNet's public one, as intended in a dev stack/,
      /allow_unsafe_scrypt\), as intended in a dev stack/,
    ])
      assert.equal(find(findings, pattern).state, 'ok')
    assert.deepEqual(
      findings.filter(({ state }) => state !== 'ok'),
      [],
    )
  })
})
