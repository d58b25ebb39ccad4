/**
 * Runs a command in a pseudo terminal and uses it as a person does: waits for output, then types.
 *
 *     const terminal = openTerminal(t, [process.execPath, latchkeyCommand, 'wallet', 'new', 'savings'])
 *     await terminal.sees('Password: ')
 *     terminal.type('secret\r')
 *     const { code, isEchoOn } = await terminal.ended
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { keepersAddress } from './terminalKeepers.test.helper.js'

export type End = {
  /** The exit code of the command, or 128 plus the number of the signal that ended it. */
  code: number
  /** Whether the terminal echoes and reads by lines (ECHO and ICANON of termios), as a shell expects. */
  isEchoOn: boolean
  isByLine: boolean
}

export type OpenTerminal = {
  /** Returns everything that was printed, with line breaks as `\n`. */
  screen: () => string
  /** Waits for a text after the previous one, and returns the output between them. */
  sees: (text: string) => Promise<string>
  type: (text: string | Uint8Array) => void
  /** The process id of the command. */
  pid: () => Promise<number>
  ended: Promise<End>
}

export type TerminalOptions = { env?: NodeJS.ProcessEnv; cwd?: string }

type Scope = { after: (work: () => unknown) => void }

/** Long enough for an overloaded machine. */
const timeoutMs = 180_000

const [screenFrame, headBytes] = ['s'.charCodeAt(0), 5]

/** Ends the command with the test if it is still running. */
export function openTerminal(t: Scope, command: readonly string[], options: TerminalOptions = {}): OpenTerminal {
  let shown = ''
  let facts = ''
  let read = 0
  let isClosed = false
  let onChange = (): void => {}
  const decoder = new TextDecoder()
  let rest = Buffer.alloc(0)
  const receive = (piece: Buffer): void => {
    rest = Buffer.concat([rest, piece])
    while (rest.length >= headBytes && rest.length >= headBytes + rest.readUInt32BE(1)) {
      const end = headBytes + rest.readUInt32BE(1)
      const bytes = rest.subarray(headBytes, end)
      if (rest[0] === screenFrame) shown = (shown + decoder.decode(bytes, { stream: true })).replaceAll('\r\n', '\n')
      else facts += bytes.toString()
      rest = rest.subarray(end)
    }
    onChange()
  }
  const opened = keepersAddress().then((path) => {
    const request = JSON.stringify({ command, env: options.env ?? process.env, cwd: options.cwd ?? process.cwd() })
    const socket = connect(path)
    socket.on('data', receive).on('error', () => {})
    socket.write(`${request}\n`)
    return socket
  })
  t.after(async () => (await opened).destroy())
  const closed = opened.then(async (socket) => {
    if (!socket.closed) await once(socket, 'close')
    isClosed = true
    onChange()
  })
  const until = async <T>(what: string, look: () => T | undefined): Promise<T> => {
    const giveUpAt = performance.now() + timeoutMs
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      assert.ok(performance.now() < giveUpAt && !isClosed, `no ${what}: ${JSON.stringify(shown)} ${facts}`)
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
    type: (text) => void opened.then((socket) => socket.write(text)),
    pid: () => until('process', () => (facts.includes('\n') ? Number(facts.split('\n', 1)[0]) : undefined)),
    ended: closed.then(() => {
      const [, last = ''] = facts.split('\n')
      assert.match(last, /^[0-9]+ [01] [01]$/, `the terminal ended unexpectedly: ${facts}${shown}`)
      const [code, echo, lines] = last.split(' ').map(Number)
      return { code: code!, isEchoOn: echo === 1, isByLine: lines === 1 }
    }),
  }
}
