/**
 * Shows `npm start` as a person sees it, on a terminal of 80 columns and 24 lines: the first start, a second terminal
 * without settings, and a restart. tmux is the terminal and reports what has scrolled out of view.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root } from '../support/daemon.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { atEnd, temporaryDirectory, until } from './commands.test.helper.js'

type Terminal = {
  readonly type: (line: string) => void
  readonly press: (key: string) => void
  readonly screen: () => string
  /** The screen with its colour escape sequences. */
  readonly colored: () => string
  /** How many lines have scrolled out of view. */
  readonly scrolled: () => number
}

class Tmux {
  readonly #socket = `latchkey-test-${process.pid}`
  readonly #environment: NodeJS.ProcessEnv

  constructor(t: TestContext) {
    const home = temporaryDirectory(t)
    this.#environment = {
      ...{ PATH: `${join(root, 'node_modules', '.bin')}:${process.env['PATH']}`, HOME: home, PS1: '$ ', ENV: '' },
      ...{ XDG_STATE_HOME: join(home, '.local', 'state'), TERM: 'xterm-256color', LANG: 'C.UTF-8', TMUX_TMPDIR: home },
      // For npm: no settings of the machine, and no update notices.
      ...{ npm_config_userconfig: join(home, 'npmrc'), npm_config_update_notifier: 'false' },
    }
    atEnd(t, () => spawnSync('tmux', ['-L', this.#socket, 'kill-server'], { env: this.#environment }))
  }

  #run(...args: string[]): string {
    return execFileSync('tmux', ['-f', '/dev/null', '-L', this.#socket, ...args], {
      env: this.#environment,
      cwd: root,
      encoding: 'utf8',
    })
  }

  async open(name: string): Promise<Terminal> {
    this.#run('new-session', '-d', '-s', name, '-x', '80', '-y', '24', 'sh')
    const terminal: Terminal = {
      type: (line) => void this.#run('send-keys', '-t', name, line, 'Enter'),
      press: (key) => void this.#run('send-keys', '-t', name, key),
      screen: () => this.#run('capture-pane', '-p', '-t', name),
      colored: () => this.#run('capture-pane', '-e', '-p', '-t', name),
      scrolled: () => Number(this.#run('display-message', '-p', '-t', name, '#{history_size}')),
    }
    await until('the prompt', () => /^[$#]/.test(terminal.screen()))
    return terminal
  }
}

/** Saves the screens for manual review if LATCHKEY_CAPTURES names a file. */
function record(title: string, screen: string): void {
  const file = process.env['LATCHKEY_CAPTURES']
  if (file !== undefined) appendFileSync(file, `${`== ${title} `.padEnd(80, '=')}\n${screen}\n`)
}

const start = 'npm start -- --any-port'
const isUp = (screen: string): boolean => screen.includes('To stop everything, press Ctrl-C.')

test('a first start, a second terminal and a restart fit 80x24', {
  // dev.test.ts counts the lines.
  skip: missingProgram('tmux'),
  timeout: 400_000,
}, async (t) => {
  const tmux = new Tmux(t)
  const first = await tmux.open('first')
  first.type(start)
  await until('the first start', () => isUp(first.screen()))
  const shown = first.screen()
  record('first terminal: the first start', shown)
  assert.equal(first.scrolled(), 0, shown)
  assert.match(shown, /^[$#] npm start/, 'even the command that was typed is still there')
  assert.match(shown, /\n> node scripts\/start\.mjs/)
  assert.match(shown, /\n {2}the buyer had \$5, now \$4\.99; the seller \$1,000,000, now \$1,000,000\.01\n/)
  assert.match(first.colored(), /\x1b\[32mround 1/)
  const [, url] = /pay (http:\S+)/.exec(shown)!

  const second = await tmux.open('second')
  second.type(`latchkey wallet list; latchkey pay ${url} --yes; latchkey key list; echo done`)
  await until('the commands', () => /\ndone\n/.test(second.screen()))
  record('second terminal: nothing was set in it', second.screen())
  assert.match(
    second.screen(),
    /latchkey: using the dev stack at 127\.0\.0\.1:[0-9]+ \(~\/\.local\/state\/latchkey\/dev\)\n/,
  )
  assert.match(second.screen(), /\nunencrypted-default-wallet /)
  assert.match(second.screen(), /"weather":"sunny"/)
  await until('the events', () => /paid 0\.01 USDC by /.test(first.screen()))
  record('first terminal: what happened meanwhile', first.screen())
  assert.match(first.screen(), /[0-9:]{8} {2}seller {7}402 sent for GET \/weather: 0\.01 USDC\n/)
  assert.match(first.screen(), /[0-9:]{8} {2}key daemon {3}signed [A-Z2-7]{8}…: [A-Z2-7]{8}… sends \$0\.01 to /)
  assert.match(first.screen(), /[0-9:]{8} {2}facilitator {2}settled [A-Z2-7]{8}… in round 2: \$0\.01 from /)

  second.type('clear')
  await until('an empty screen', () => !second.screen().includes('weather'))
  second.type('latchkey dev')
  // The terminal breaks lines inside words.
  const refusal = (): string => second.screen().replaceAll('\n', '')
  await until('the refusal of a second stack', () => refusal().includes('run latchkey dev --ephemeral'))
  record('second terminal: another start while one runs', second.screen())
  assert.match(refusal(), /a dev stack is already running in ~\/\.local\/state\/latchkey\/dev/)

  first.press('C-c')
  await until('the end', () => /[$#] ?\n*$/.test(first.screen()))
  const restarted = await tmux.open('restarted')
  restarted.type(start)
  await until('the restart', () => isUp(restarted.screen()))
  record('first terminal: a restart', restarted.screen())
  assert.equal(restarted.scrolled(), 0)
  assert.match(restarted.screen(), /settles the payment in round 3 /)
  assert.match(
    restarted.screen(),
    /\n {2}the buyer had \$4\.98, now \$4\.97; the seller \$1,000,000\.02, now \$1,000,000\.03\n/,
  )
  assert.match(restarted.screen(), /\(restored; --fresh starts over\)/)
  restarted.press('C-c')
  await until('the end', () => /[$#] ?\n*$/.test(restarted.screen()))
})
