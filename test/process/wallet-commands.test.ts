/** Tests `latchkey wallet ...` in scripts. See `prompts.test.ts` for terminals. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import * as algosdk from 'algosdk'
import { hostedLatchkey, latchkey, type Outcome, type RunOptions, shell } from '../support/latchkey.test.helper.js'
import { start, suiteScope, temporaryDirectory } from './commands.test.helper.js'

const groups = {
  wallet: ['new', 'list', 'backup', 'recover', 'rename', 'password', 'delete'],
  key: ['new', 'list', 'import', 'export', 'delete'],
  multisig: ['new', 'list', 'show', 'delete'],
}

suite('latchkey wallet', { timeout: 600_000 }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const starting = start(scope)
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(directory, name), content, { mode: 0o600 })
    return join(directory, name)
  }
  const password = file('password', 'a password\r\nanother line\n')
  const run = async (args: string, options: RunOptions = {}): Promise<Outcome> =>
    hostedLatchkey(args.split(' '), { dataDir: (await starting).dataDir, ...options })

  function failed({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
    assert.deepEqual([code, stdout], [expected, ''], stderr)
    assert.match(stderr, message)
    assert.match(stderr, /^latchkey [^\n]+\n$/)
  }

  test('every command has help with an example, and --json', async () => {
    for (const [group, names] of Object.entries(groups)) {
      const overview = await run(group)
      assert.equal(overview.code, 0)
      for (const name of names) {
        assert.ok(overview.stdout.includes(`${group} ${name} `))
        const { code, stdout, stderr } = await run(`${group} ${name} --help`)
        assert.deepEqual([code, stderr], [0, ''])
        assert.match(stdout, new RegExp(`Usage:\n  latchkey ${group} ${name} `))
        assert.match(stdout, new RegExp(`Examples?:\n  latchkey ${group} ${name}`))
        assert.match(stdout, / --json /)
      }
    }
  })

  test('creates a wallet, prints its id, and lists it', async () => {
    const created = await run(`wallet new first --password-file ${password}`)
    assert.equal(created.code, 0)
    assert.match(created.stdout, /^[0-9a-f]{32}\n$/)
    assert.match(created.stderr, /Created wallet first\..*latchkey key new -w first/)
    const id = created.stdout.trim()
    const listed = await run('wallet list')
    assert.ok(listed.stdout.split('\n').some((line) => /^first {2,}[0-9a-f]{32}$/.test(line) && line.endsWith(id)))
    const { wallets } = JSON.parse((await run('wallet list --json')).stdout)
    const { name, driverName, supportedTransactions } = wallets.find((wallet: { id: string }) => wallet.id === id)
    assert.deepEqual([name, driverName, supportedTransactions], ['first', 'sqlite', ['pay', 'keyreg']])
    // The password is the first line, without its line break.
    await (await starting).unlock(id, 'a password')
  })

  test('rejects a name that exists, is blank or too long before any prompt', async () => {
    await run('wallet new twice --no-password')
    failed(await run('wallet new twice'), 3, /a wallet named twice exists; choose another name/)
    failed(await run('wallet recover twice'), 3, /a wallet named twice exists/)
    failed(await run(`wallet new ${'x'.repeat(65)}`), 2, /the name has 65 bytes; the maximum is 64/)
    failed(await latchkey(['wallet', 'new', ' '], { dataDir: (await starting).dataDir }), 2, /a wallet needs a name/)
    failed(await run('wallet new'), 2, /NAME is missing/)
  })

  test('replaces control characters in names', async () => {
    const kmd = await starting
    await kmd.create('\u001b[31mred\nsecond line', '')
    const { stdout } = await run('wallet list')
    assert.match(stdout, /^\?\[31mred\?second line +[0-9a-f]{32}$/m)
    assert.ok(!stdout.includes('\u001b'))
  })

  test('reads passwords as bytes from a file, a descriptor, stdin or the environment', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x20, 0x80])
    const odd = file('odd', Buffer.concat([bytes, Buffer.from('\n')]))
    assert.equal((await run(`wallet new bytes --password-file ${odd}`)).code, 0)
    const ways: [string, RunOptions][] = [
      [`--password-file ${odd}`, {}],
      ['--password-fd 3', { descriptors: [bytes] }],
      ['--json', { env: { KMD_PASSWORD_FILE: odd } }],
    ]
    for (const [option, options] of ways) {
      const { code, stderr } = await run(`key list -w bytes ${option}`, options)
      assert.equal(code, 0, stderr)
    }
    await run('wallet new plain --password-fd 0', { stdin: 'from stdin\n' })
    assert.equal((await run('key list -w plain --password-fd 0', { stdin: 'from stdin' })).code, 0)
    const warned = await run('key list -w plain', { env: { KMD_PASSWORD: 'from stdin' } })
    assert.equal(warned.code, 0)
    assert.match(warned.stderr, /^warning: the password comes from KMD_PASSWORD/)
  })

  test('exits with 6 without a password', async () => {
    failed(
      await run('wallet new never'),
      6,
      /the password is required, but stdin is not a terminal; give --password-file or --password-fd/,
    )
    failed(await run('wallet new never --password-file /nonexistent'), 6, /password file cannot be read: ENOENT/)
    failed(await run(`wallet new never --password-file ${directory}`), 6, /cannot be read from .*EISDIR/)
    failed(await run('wallet new never --password-fd 99'), 6, /cannot be read from descriptor 99: EBADF/)
    const endless = file('endless', 'x'.repeat(70_000))
    failed(await run(`wallet new never --password-file ${endless}`), 6, /no line end within 65536 bytes/)
    failed(await run('wallet new never --no-password --password-fd 3'), 2, /give only one of --password-file/)
    failed(await run('wallet new never --password-fd three'), 2, /--password-fd must be a number/)
    assert.ok(!(await (await starting).walletNames()).includes('never'))
  })

  test('creates a wallet with a blank password only with --no-password', async () => {
    const message = /the given password is blank; give --no-password if that is intended/
    failed(await run(`wallet new never --password-file ${file('blank', '')}`), 6, message)
    failed(await run('wallet new never --password-fd 0'), 6, message)
    assert.equal((await run('wallet new never', { env: { KMD_PASSWORD: '' } })).code, 6)
    assert.equal((await run('wallet new meant --no-password')).code, 0)
  })

  test('reports a wrong password, and how long to wait after many', async (t) => {
    failed(await run('key list -w first --no-password'), 6, /: wrong password; nothing was done/)
    const kmd = await start(t)
    const id = await kmd.create('guessed', 'pw')
    await kmd.stop()
    const count = { streak: 40, level: 40, lastFailureMs: Date.now() }
    writeFileSync(kmd.path('latchkey_failures.json'), JSON.stringify({ [id]: count }))
    const again = await start(t, { dataDir: kmd.dataDir })
    const outcome = await run(`key list --password-file ${file('a-guess', 'wrong')}`, { dataDir: again.dataDir })
    failed(outcome, 6, /too many wrong passwords for this wallet; wait [0-9]+ seconds, then give the correct password/)
  })

  test('exits with 5 without a daemon and names the command that starts one', async (t) => {
    const empty = join(temporaryDirectory(t), 'empty')
    mkdirSync(empty)
    const address = `${'A'.repeat(52)}Y5HFKQ`
    const args: { [name: string]: string } = { rename: 'a b', export: `${address} --yes`, show: address }
    args['delete'] = `${address} --yes`
    for (const [group, names] of Object.entries(groups)) {
      for (const name of names) {
        const more = args[name] ?? (name === 'backup' ? 'a --yes' : group === 'wallet' && name !== 'list' ? 'a' : '')
        const members = group === 'multisig' && name === 'new' ? `--threshold 1 ${address}` : more
        const outcome = await run(`${group} ${name} ${members}`.trim(), { dataDir: empty })
        failed(outcome, 5, new RegExp(`no key daemon is running in ${empty}; start one with latchkey kmd`))
      }
    }
    const kmd = await start(t)
    await kmd.stop('SIGKILL')
    failed(await run('wallet list', { dataDir: kmd.dataDir }), 5, /start one with latchkey kmd/)
  })

  test('reports a missing wallet', async () => {
    for (const args of [
      'wallet rename nope other',
      'wallet password nope',
      'wallet backup nope --yes',
      'key list -w nope',
    ]) {
      failed(await run(args), 3, /wallet nope not found; list the wallets with latchkey wallet list/)
    }
    failed(await run('key list'), 2, /there are several wallets: .*; select one with --wallet/)
    const outcome = await latchkey(['key', 'list', '-w', 'no \u001b[31m'], { dataDir: (await starting).dataDir })
    failed(outcome, 3, /wallet "no \?\[31m" not found/)
  })

  test('selects the only wallet, the one in the environment, or one by its id', async (t) => {
    const { dataDir } = await start(t)
    failed(await run('key list', { dataDir }), 3, /no wallet exists yet; create one with latchkey wallet new NAME/)
    const { stdout: id } = await run('wallet new one --no-password', { dataDir })
    assert.equal((await run('key new --no-password', { dataDir })).code, 0)
    await run('wallet new two --no-password', { dataDir })
    assert.equal((await run('key new --no-password', { dataDir })).code, 2)
    assert.equal((await run('key new --no-password', { dataDir, env: { KMD_WALLET: 'two' } })).code, 0)
    assert.equal((await run(`key list --no-password -w ${id.trim()}`, { dataDir })).stdout.length, 59)
  })

  test('renames a wallet', async () => {
    const kmd = await starting
    const id = await kmd.create('old name', 'a password')
    const args = ['wallet', 'rename', 'old name', 'new-name', '--password-file', password]
    const { code, stderr } = await latchkey(args, { dataDir: kmd.dataDir })
    assert.deepEqual([code, stderr], [0, 'Renamed wallet "old name" to new-name.\n'])
    assert.equal((await kmd.wallets()).find((wallet) => wallet.id === id)!.name, 'new-name')
    failed(await run('wallet rename new-name first'), 3, /a wallet named first exists/)
    failed(await run('wallet rename new-name other --no-password'), 6, /wrong password/)
  })

  test('changes a password with both read from one descriptor', async () => {
    const kmd = await starting
    const id = await kmd.create('changing', 'old')
    const change = 'wallet password changing --password-fd 3 --new-password-fd 3'
    failed(await run(change, { descriptors: ['wrong\nnew\n'] }), 6, /wrong password/)
    failed(await run(change, { descriptors: ['old\n'] }), 6, /blank; give --no-new-password if that is intended/)
    failed(
      await run('wallet password changing --password-fd 3', { descriptors: ['old'] }),
      6,
      /give --new-password-file/,
    )
    const { code, stdout } = await run(`${change} --json`, { descriptors: ['old\nnew\n'] })
    assert.deepEqual([code, JSON.parse(stdout)], [0, { wallet: { id, name: 'changing' } }])
    await kmd.unlock(id, 'new')
    assert.equal(
      (await run('wallet password changing --password-fd 3 --no-new-password', { descriptors: ['new'] })).code,
      0,
    )
    await kmd.unlock(id, '')
  })

  test('deletes only with --yes, and prints the path of the file and how to undo it', async () => {
    const kmd = await starting
    const id = await kmd.create('unloved', '')
    failed(
      await run('wallet delete unloved --no-password'),
      2,
      /confirmation is required, but stdin is not a terminal; give --yes/,
    )
    const { code, stdout } = await run('wallet delete unloved --no-password --yes --json')
    assert.equal(code, 0)
    const { wallet, movedTo, undo } = JSON.parse(stdout)
    assert.deepEqual(wallet, { id, name: 'unloved' })
    assert.ok(statSync(movedTo).isFile())
    assert.ok(!(await kmd.walletNames()).includes('unloved'))
    assert.equal((await shell(undo)).code, 0)
    await kmd.unlock(id, '')
  })

  test('a backup restores the same addresses, and algosdk decodes the same key', async () => {
    const kmd = await starting
    const id = await kmd.create('origin', 'pw')
    const handle = await kmd.unlock(id, 'pw')
    const addresses: string[] = []
    for (let count = 0; count < 3; count++) addresses.push(await kmd.generate(handle))
    const options = { descriptors: ['pw'] }
    const backup = await run('wallet backup origin --password-fd 3 --yes', options)
    assert.equal(backup.code, 0)
    const words = backup.stdout.trimEnd()
    assert.match(backup.stderr, /latchkey wallet recover origin --keys 3\nThe wallet has no imported keys/)
    assert.ok(!backup.stderr.includes(words.slice(0, 30)))
    const body = { wallet_handle_token: handle, wallet_password: 'pw' }
    const { master_derivation_key: key } = await kmd.ok('POST', '/v1/master-key/export', body)
    assert.deepEqual(Buffer.from(algosdk.mnemonicToMasterDerivationKey(words)).toString('base64'), key)
    assert.equal(algosdk.masterDerivationKeyToMnemonic(Buffer.from(key, 'base64')), words)
    const recovered = await run('wallet recover copy --keys 3 --no-password --mnemonic-fd 3', { descriptors: [words] })
    assert.deepEqual([recovered.code, recovered.stdout], [0, `${addresses.join('\n')}\n`])
    const next = await run('key new -w copy --no-password')
    assert.equal(next.stdout.trim(), await kmd.generate(handle))
  })

  test('a backup lists what it does not restore, and the number of keys after some were deleted', async () => {
    const kmd = await starting
    const handle = await kmd.unlock(await kmd.create('mixed', ''), '')
    const generated = [await kmd.generate(handle), await kmd.generate(handle), await kmd.generate(handle)]
    const stranger = algosdk.generateAccount()
    const { addr, sk } = stranger
    const member = { wallet_handle_token: handle }
    await kmd.ok('POST', '/v1/key/import', { ...member, private_key: Buffer.from(sk).toString('base64') })
    await kmd.ok('DELETE', '/v1/key', { ...member, wallet_password: '', address: generated[0] })
    const multisig = await run(`multisig new -w mixed --no-password -t 1 ${addr} ${generated[1]}`)
    const { stdout, stderr } = await run('wallet backup mixed --no-password --yes --json')
    const facts = JSON.parse(stdout)
    assert.deepEqual(facts.imported, [addr.toString()])
    assert.deepEqual(facts.multisigs, [multisig.stdout.trim()])
    assert.equal(facts.keys, 3)
    assert.match(stderr, new RegExp(`NOT in this backup: imported keys .*:\n  ${addr}\n`))
    assert.ok(!stderr.includes(facts.words.slice(0, 30)))
  })

  test('a backup is written to a new file, readable by the owner only, that recover reads', async () => {
    const kmd = await starting
    await kmd.create('filed', '')
    const out = join(directory, 'filed.words')
    const line = `umask 000; latchkey wallet backup filed --no-password --out '${out}'`
    const { code, stdout, stderr } = await shell(line, { dataDir: kmd.dataDir })
    assert.deepEqual([code, stdout], [0, ''], stderr)
    assert.equal(statSync(out).mode & 0o777, 0o600)
    const words = readFileSync(out, 'utf8')
    assert.match(words, /^([a-z]{3,8} ){24}[a-z]{3,8}\n$/)
    assert.ok(!stderr.includes(words.slice(0, 30)))
    const again = await run(`wallet backup filed --no-password --out ${out}`)
    failed(again, 3, /already exists and was not overwritten/)
    assert.equal(readFileSync(out, 'utf8'), words)
    symlinkSync(join(directory, 'elsewhere'), join(directory, 'dangling'))
    const linked = await run(`wallet backup filed --no-password --out ${join(directory, 'dangling')}`)
    failed({ ...linked, stderr: linked.stderr.split('\n\n')[1]! }, 3, /already exists and was not overwritten/)
    assert.ok(!existsSync(join(directory, 'elsewhere')))
    const json = await run(`wallet backup filed --no-password --json --out ${out}2`)
    assert.deepEqual(Object.keys(JSON.parse(json.stdout)), ['wallet', 'keys', 'imported', 'multisigs', 'file'])
    assert.equal((await run(`wallet recover filed-again --no-password --words-file ${out}`)).code, 0)
  })

  test('--check compares a mnemonic with a wallet without showing it', async () => {
    const kmd = await starting
    await kmd.create('checked', '')
    const words = (await run('wallet backup checked --no-password --yes')).stdout
    const check = 'wallet backup checked --no-password --check --mnemonic-fd 3'
    const right = await run(check, { descriptors: [words.toUpperCase().replaceAll(' ', '\n')] })
    assert.deepEqual(right, { code: 0, stdout: '', stderr: 'The words match the wallet checked.\n' })
    const other = `${'abandon '.repeat(24)}invest`
    failed(
      await run(check, { descriptors: [other] }),
      3,
      /the mnemonic is valid, but belongs to another wallet than checked/,
    )
    const json = await run(`${check} --json`, { descriptors: [other] })
    assert.deepEqual([json.code, JSON.parse(json.stdout).isRight], [3, false])
    failed(await run('wallet backup checked --mnemonic-fd 3'), 2, /need --check/)
  })

  test('reports wrong words by position and creates nothing', async () => {
    const good = `${'abandon '.repeat(24)}invest`.split(' ')
    const cases: [string[], RegExp][] = [
      [good.with(6, 'abadnon'), /word 7 is not in the word list \(nearest: abandon\)/],
      [good.with(0, 'zooo').with(24, 'invset'), /word 1 is .*\(nearest: zoo\); word 25 is .*\(nearest: invest\)/],
      [good.with(3, 'ability'), /all 25 words are in the word list, but the checksum does not match/],
      [good.slice(1), /a mnemonic has 25 words, but 24 were given/],
      [[...good, 'zoo'], /a mnemonic has 25 words, but 26 were given/],
      [[], /a mnemonic has 25 words, but 0 were given/],
      [Array(25).fill('xxxxxxxxxx'), /word 5 is .*; and 20 more$/m],
    ]
    for (const [words, message] of cases) {
      const outcome = await run('wallet recover never --no-password --mnemonic-fd 3', {
        descriptors: [words.join(' ')],
      })
      failed(outcome, 3, message)
      assert.ok(!outcome.stderr.includes('abadnon'))
    }
    failed(
      await run('wallet recover never'),
      2,
      /the mnemonic is required, but stdin is not a terminal; give --mnemonic-file or --mnemonic-fd/,
    )
    failed(await run('wallet recover never --mnemonic-file /nonexistent'), 3, /mnemonic cannot be read: ENOENT/)
    failed(await run('wallet recover never --mnemonic-file /dev/zero'), 3, /no line end within 65536 bytes/)
    failed(await run('wallet recover never --keys many'), 2, /--keys must be a number from 0 to 10000/)
    assert.ok(!(await (await starting).walletNames()).includes('never'))
  })

  test('a closed pipe and a closed stdin are not errors', async () => {
    const { dataDir } = await starting
    await run('wallet new many --no-password')
    const line = `{ latchkey key new -w many --no-password -n 300; echo $? > '${directory}/code'; } | head -1`
    const { stdout, stderr } = await shell(line, { dataDir })
    assert.match(stdout, /^[A-Z2-7]{58}\n$/)
    assert.deepEqual([stderr, readFileSync(join(directory, 'code'), 'utf8')], ['', '0\n'])
    const closed = await shell('latchkey wallet list <&-', { dataDir })
    assert.deepEqual([closed.code, closed.stderr], [0, ''])
    assert.ok(closed.stdout.includes('many'))
  })
})
