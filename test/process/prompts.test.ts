/** Tests prompts of `latchkey` in a pseudo terminal. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { openTerminal } from '../support/terminal.test.helper.js'
import { type Kmd, type Scope, startHosted, suiteScope, temporaryDirectory } from './commands.test.helper.js'

suite('prompts on a terminal', { timeout: 600_000, skip: missingProgram('python3') }, () => {
  const scope = suiteScope()
  const directory = temporaryDirectory(scope)
  const starting = startHosted(scope)

  async function latchkey(t: Scope, ...args: string[]) {
    const kmd = await starting
    return openIn(t, kmd, [process.execPath, latchkeyCommand, ...args])
  }

  function openIn(t: Scope, kmd: Kmd, command: string[]) {
    const env = { PATH: process.env['PATH'], HOME: directory, KMD_DATA_DIR: kmd.dataDir, TERM: 'xterm' }
    return openTerminal(t, command, { env, cwd: directory })
  }

  /** The terminal echoes and reads by lines, as a shell expects. */
  const inOrder = { isEchoOn: true, isByLine: true }

  test('asks for a new password twice and never shows it', async (t) => {
    const terminal = await latchkey(t, 'wallet', 'new', 'hidden')
    await terminal.sees('Password: ')
    terminal.type('open sesame\r')
    await terminal.sees('Repeat it: ')
    terminal.type('open sesame\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    assert.ok(!terminal.screen().includes('sesame'))
    // A slow machine shows the progress in between.
    const shown = terminal.screen().replace(/Creating hidden\.\.\.\r *\r/, '')
    assert.match(shown, /^Password: \nRepeat it: \n[0-9a-f]{32}\nCreated wallet hidden\./)
    const kmd = await starting
    const { id } = (await kmd.wallets()).find(({ name }) => name === 'hidden')!
    await kmd.unlock(id, 'open sesame')
  })

  test('asks again if the two differ', async (t) => {
    const terminal = await latchkey(t, 'wallet', 'new', 'differ')
    for (let round = 0; round < 7; round++) {
      await terminal.sees('Password: ')
      terminal.type('one\r')
      await terminal.sees('Repeat it: ')
      terminal.type('other\r')
      await terminal.sees('The passwords differ. Try again.')
    }
    await terminal.sees('Password: ')
    terminal.type('one\rone\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    assert.doesNotMatch(terminal.screen(), /warning/i)
  })

  test('accepts both lines pasted at once', async (t) => {
    const terminal = await latchkey(t, 'wallet', 'new', 'pasted')
    await terminal.sees('Password: ')
    terminal.type('pasted word\rpasted word\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    assert.ok(!terminal.screen().includes('pasted word'))
  })

  test('handles backspace, arrow keys and non-ASCII characters', async (t) => {
    const terminal = await latchkey(t, 'wallet', 'new', 'keys')
    await terminal.sees('Password: ')
    terminal.type('wrong\u0015grünx\u007f\u001b[D\u001bOA\u001b[3~ 鍵🔑')
    terminal.type('\r')
    await terminal.sees('Repeat it: ')
    // A two-byte character that arrives in two chunks.
    const bytes = Buffer.from('grün 鍵🔑')
    terminal.type(bytes.subarray(0, 3))
    await new Promise((resolve) => setTimeout(resolve, 50))
    terminal.type(bytes.subarray(3))
    terminal.type('\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    const kmd = await starting
    const { id } = (await kmd.wallets()).find(({ name }) => name === 'keys')!
    await kmd.unlock(id, 'grün 鍵🔑')
  })

  test('a blank password needs a confirmation, which a paste does not give', async (t) => {
    const terminal = await latchkey(t, 'wallet', 'new', 'blank')
    await terminal.sees('Password: ')
    terminal.type('\ry\r')
    await terminal.sees('Create the wallet without a password? [y/N] ')
    terminal.type('\r')
    await terminal.sees('Password: ')
    terminal.type('\r')
    await terminal.sees('Create the wallet without a password? [y/N] ')
    terminal.type('yes\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    const kmd = await starting
    const { id } = (await kmd.wallets()).find(({ name }) => name === 'blank')!
    await kmd.unlock(id, '')
  })

  for (const [name, keys] of [
    ['Ctrl-C', '\u0003'],
    ['Ctrl-C after half a word', 'half\u0003'],
    ['Ctrl-C after Escape', '\u001b\u0003'],
    ['Ctrl-D', '\u0004'],
  ] as const) {
    test(`${name} at a password exits with 130 and does nothing`, async (t) => {
      const terminal = await latchkey(t, 'wallet', 'new', 'never')
      await terminal.sees('Password: ')
      terminal.type(keys)
      assert.deepEqual(await terminal.ended, { code: 130, ...inOrder })
      assert.equal(terminal.screen(), 'Password: \n')
      assert.ok(!(await (await starting).walletNames()).includes('never'))
    })
  }

  test('a signal at a password restores the terminal', async (t) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const terminal = await latchkey(t, 'wallet', 'new', 'never')
      await terminal.sees('Password: ')
      process.kill(await terminal.pid(), signal)
      assert.deepEqual(await terminal.ended, { code: signal === 'SIGINT' ? 130 : 143, ...inOrder })
    }
  })

  test('Ctrl-C at a confirmation exits with 130, and a wrong answer with 1', async (t) => {
    const kmd = await starting
    await kmd.create('kept', '')
    for (const [keys, code] of [
      ['\u0003', 130],
      ['\u0004', 130],
      ['\r', 1],
      ['y\r', 1],
      ['kept no\r', 1],
    ] as const) {
      const terminal = await latchkey(t, 'wallet', 'delete', 'kept', '--no-password')
      await terminal.sees('Type kept to continue: ')
      terminal.type(keys)
      assert.deepEqual(await terminal.ended, { code, ...inOrder })
      if (code === 1) assert.ok(terminal.screen().endsWith('latchkey wallet delete: nothing was done\n'))
      assert.ok((await kmd.walletNames()).includes('kept'))
    }
  })

  test('deletes a wallet after its name is typed, and the printed command undoes it', async (t) => {
    const kmd = await starting
    await kmd.create('gone soon', '')
    const terminal = await latchkey(t, 'wallet', 'delete', 'gone soon', '--no-password')
    await terminal.sees('Type gone soon to continue: ')
    terminal.type('gone sooon\u007f\u007fn\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    assert.ok(!(await kmd.walletNames()).includes('gone soon'))
    const [undo] = /mv .*/.exec(terminal.screen())!
    assert.equal((await openIn(t, kmd, ['sh', '-c', undo]).ended).code, 0)
    assert.ok((await kmd.walletNames()).includes('gone soon'))
  })

  test('reads a mnemonic over several lines without echo, and asks again only for a misspelt word', async (t) => {
    const kmd = await starting
    const words = `${'abandon '.repeat(24)}invest`.split(' ')
    const typed = words.with(6, 'abadnon')
    const terminal = await latchkey(t, 'wallet', 'recover', 'typed', '--no-password', '-n', '2')
    await terminal.sees('25 words (hidden): ')
    terminal.type(`${typed.slice(0, 10).join(' ')}\r${typed.slice(10, 12).join('  ')}\r`)
    await terminal.sees('12 so far, continue (hidden): ')
    terminal.type(`${typed.slice(12).join(' ')}\r`)
    await terminal.sees('Word 7 is not in the word list. Press Enter for "abandon", or type the word: ')
    terminal.type('\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    assert.ok(!terminal.screen().includes('invest'))
    const handle = await kmd.unlock((await kmd.wallets()).find(({ name }) => name === 'typed')!.id, '')
    const addresses = await kmd.keys(handle)
    assert.equal(addresses.length, 2)
    for (const address of addresses) assert.ok(terminal.screen().includes(address))
  })

  test('shows a backup only after a confirmation', async (t) => {
    const kmd = await starting
    await kmd.create('shown', 'pw')
    const no = await latchkey(t, 'wallet', 'backup', 'shown')
    await no.sees('Password of shown: ')
    no.type('pw\r')
    await no.sees('Show them here? [y/N] ')
    no.type('n\r')
    assert.deepEqual(await no.ended, { code: 1, ...inOrder })
    assert.doesNotMatch(no.screen(), /[0-9] [a-z]{3,8} +[0-9]/)
    const yes = await latchkey(t, 'wallet', 'backup', 'shown')
    await yes.sees('Password of shown: ')
    yes.type('pw\r')
    await yes.sees('Show them here? [y/N] ')
    yes.type('y\r')
    assert.deepEqual(await yes.ended, { code: 0, ...inOrder })
    const [grid] = /^( {2,3}[0-9]{1,2} [a-z]{3,8} *){5}(\n( {2,3}[0-9]{1,2} [a-z]{3,8} *){5}){4}$/m.exec(yes.screen())!
    const numbers = grid.match(/[0-9]+/g)!.map(Number)
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at + 1),
    )
    // As copied from the screen.
    const words = grid.replaceAll('\n', ' ').trim()
    const check = await latchkey(t, 'wallet', 'backup', 'shown', '--check')
    await check.sees('Password of shown: ')
    check.type('pw\r')
    await check.sees('25 words (hidden): ')
    check.type(`${words}\r`)
    assert.deepEqual(await check.ended, { code: 0, ...inOrder })
    assert.ok(check.screen().endsWith('The words match the wallet shown.\n'))
    assert.ok(!check.screen().includes(words))
  })

  test('writes a secret to a redirected stdout only with --yes', async (t) => {
    const kmd = await starting
    const id = await kmd.create('redirected', '')
    await kmd.generate(await kmd.unlock(id, ''))
    const line = `'${process.execPath}' '${latchkeyCommand}' wallet backup redirected --no-password`
    const silent = openIn(t, kmd, ['sh', '-c', `${line} > words.txt`])
    assert.equal((await silent.ended).code, 2)
    assert.match(silent.screen(), /stdout is not a terminal; give --out FILE, or --yes/)
    assert.equal(statSync(join(directory, 'words.txt')).size, 0)
    const said = openIn(t, kmd, ['sh', '-c', `${line} --yes > words.txt`])
    assert.equal((await said.ended).code, 0)
    assert.match(readFileSync(join(directory, 'words.txt'), 'utf8'), /^([a-z]+ ){24}[a-z]+\n$/)
  })

  test('deletes a key only after the last six characters of its address are typed', async (t) => {
    const kmd = await starting
    const handle = await kmd.unlock(await kmd.create('six', 'pw'), 'pw')
    const address = await kmd.generate(handle)
    for (const [reply, code] of [
      ['y', 1],
      [address.slice(-5), 1],
      [address.slice(-6), 0],
    ] as const) {
      const terminal = await latchkey(t, 'key', 'delete', address, '-w', 'six')
      await terminal.sees('Password of six: ')
      terminal.type('pw\r')
      await terminal.sees('This is key 1 that was generated in six')
      await terminal.sees(`Type ${address.slice(-6)} to continue: `)
      terminal.type(`${reply}\r`)
      assert.deepEqual(await terminal.ended, { code, ...inOrder })
      assert.deepEqual(await kmd.keys(handle), code === 0 ? [] : [address])
    }
  })

  test('exits with 6 on a wrong password before the next prompt', async (t) => {
    const kmd = await starting
    await kmd.create('other', 'pw')
    const terminal = await latchkey(t, 'wallet', 'password', 'other')
    await terminal.sees('Password of other: ')
    terminal.type('wrong\r')
    assert.deepEqual(await terminal.ended, { code: 6, ...inOrder })
    assert.ok(!terminal.screen().includes('New password'))
  })

  test('prompts on the terminal even if stdin, stdout and stderr are redirected', async (t) => {
    const kmd = await starting
    const handle = await kmd.unlock(await kmd.create('piped', 'pw'), 'pw')
    const address = await kmd.generate(handle)
    const line = `'${process.execPath}' '${latchkeyCommand}' key list -w piped < /dev/null 2> errors.txt | head -1 > list.txt`
    const terminal = openIn(t, kmd, ['sh', '-c', line])
    await terminal.sees('Password of piped: ')
    terminal.type('pw\r')
    assert.deepEqual(await terminal.ended, { code: 0, ...inOrder })
    assert.equal(terminal.screen(), 'Password of piped: \n')
    assert.equal(readFileSync(join(directory, 'list.txt'), 'utf8'), `${address}\n`)
    assert.equal(readFileSync(join(directory, 'errors.txt'), 'utf8'), '')
  })

  test('reports a missing wallet without a prompt', async (t) => {
    const terminal = await latchkey(t, 'wallet', 'delete', 'nowhere')
    assert.deepEqual(await terminal.ended, { code: 3, ...inOrder })
    assert.equal(
      terminal.screen(),
      'latchkey wallet delete: wallet nowhere not found; list the wallets with latchkey wallet list\n',
    )
  })

  test('reports an existing output file before the password prompt', async (t) => {
    const kmd = await starting
    await kmd.create('careful', 'pw')
    writeFileSync(join(directory, 'taken.txt'), 'precious')
    const terminal = await latchkey(t, 'wallet', 'backup', 'careful', '--out', 'taken.txt')
    assert.equal((await terminal.ended).code, 3)
    assert.match(terminal.screen(), /taken\.txt already exists and was not overwritten; name another file/)
    assert.ok(!terminal.screen().includes('Password'))
    assert.equal(readFileSync(join(directory, 'taken.txt'), 'utf8'), 'precious')
  })
})
