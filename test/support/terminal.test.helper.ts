/**
 * Runs a command in a pseudo terminal and uses it as a person does: waits for output, then types.
 *
 *     const terminal = openTerminal(t, [process.execPath, latchkeyCommand, 'wallet', 'new', 'savings'])
 *     await terminal.sees('Password: ')
 *     terminal.type('secret\r')
 *     const { code, isEchoOn } = await terminal.ended
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export type End = {
  /** The exit code of the command; 128 and the number of the signal if one ended it. */
  code: number
  /** Whether the terminal echoes and reads by lines (ECHO and ICANON of termios), as a shell expects. */
  isEchoOn: boolean
  isByLine: boolean
}

export type OpenTerminal = {
  /** Everything that was printed, with line breaks as `\n`. */
  screen: () => string
  /** Waits for a text after the previous one, and returns what is between them. */
  sees: (text: string) => Promise<string>
  type: (text: string | Uint8Array) => void
  /** The process id of the command. */
  pid: () => Promise<number>
  ended: Promise<End>
}

export type TerminalOptions = { env?: NodeJS.ProcessEnv; cwd?: string }

type Scope = { after: (work: () => unknown) => void }

/** Long enough for an overloaded machine. */
const timeoutMs = 60_000

/** Ends the command with the test if it still runs. */
export function openTerminal(t: Scope, command: readonly string[], options: TerminalOptions = {}): OpenTerminal {
  const child = spawn('python3', ['-c', keeper, ...command], { env: options.env ?? process.env, cwd: options.cwd })
  t.after(() => child.kill('SIGTERM'))
  child.stdin.on('error', () => {})
  let shown = ''
  let facts = ''
  let read = 0
  let onChange = (): void => {}
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    shown = (shown + piece).replaceAll('\r\n', '\n')
    onChange()
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    facts += piece
    onChange()
  })
  const closed = once(child, 'close').then(() => onChange())
  const until = async <T>(what: string, look: () => T | undefined): Promise<T> => {
    const giveUpAt = performance.now() + timeoutMs
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      assert.ok(
        performance.now() < giveUpAt && child.exitCode === null,
        `no ${what}: ${JSON.stringify(shown)} ${facts}`,
      )
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200)
        onChange = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  return {
    screen: () => shown,
    sees: (text) =>
      until(JSON.stringify(text), () => {
        const at = shown.indexOf(text, read)
        if (at < 0) return undefined
        const between = shown.slice(read, at)
        read = at + text.length
        return between
      }),
    type: (text) => void child.stdin.write(text),
    pid: () => until('process', () => (facts.includes('\n') ? Number(facts.split('\n', 1)[0]) : undefined)),
    ended: closed.then(() => {
      const [, last = ''] = facts.split('\n')
      assert.match(last, /^[0-9]+ [01] [01]$/, `the terminal ended unexpectedly: ${facts}${shown}`)
      const [code, echo, lines] = last.split(' ').map(Number)
      return { code: code!, isEchoOn: echo === 1, isByLine: lines === 1 }
    }),
  }
}

/**
 * Holds both ends of the terminal, so that its settings can be read after the command has exited. Prints the process id
 * of the command first, and at the end its exit code and the settings of the terminal.
 */
const keeper = `
import fcntl, os, pty, select, signal, sys, termios
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
master, slave = pty.openpty()
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2): os.dup2(slave, fd)
    os.close(master)
    if slave > 2: os.close(slave)
    os.execvp(sys.argv[1], sys.argv[1:])
sys.stderr.write(f"{child}\\n"); sys.stderr.flush()
status, sources = None, [0, master]
try:
    while True:
        ready, _, _ = select.select(sources, [], [], 0.02)
        if master in ready:
            os.write(1, os.read(master, 65536))
        elif status is not None:
            break
        if 0 in ready:
            typed = os.read(0, 65536)
            if typed: os.write(master, typed)
            else: sources.remove(0)
        if status is None:
            done, code = os.waitpid(child, os.WNOHANG)
            if done == child: status = os.waitstatus_to_exitcode(code)
    flags = termios.tcgetattr(slave)[3]
    code = status if status >= 0 else 128 - status
    sys.stderr.write(f"{code} {int(bool(flags & termios.ECHO))} {int(bool(flags & termios.ICANON))}\\n")
finally:
    if status is None: os.kill(child, signal.SIGKILL)
`
