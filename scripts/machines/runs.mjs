// Runs the two commands of the README on a machine.
import { spawn } from 'node:child_process'
import { signalGroup } from '../run.mjs'

const limitMs = 45 * 60_000
/** The line printed after the paid request. At that point everything has worked. */
const paid = /the buyer had .*, now /
/** A few files of each kind; running all of them would take minutes. */
const few = ['algorand/src/Address', 'system/src/Lock', 'gate/Gate.test', 'process/start', 'structure/structure']

/** Starts the stack, waits for the paid request, and stops the stack as Ctrl-C does. */
export async function runStart(situation) {
  const result = await runCommand(situation, ['npm', 'start'], (output, stop) => paid.test(output) && stop())
  const isPaid = paid.test(result.output)
  return { ...result, isGood: isPaid, said: isPaid ? 'one paid request' : lastLineOf(result.output) }
}

export async function runTests(situation, isWhole) {
  const words = isWhole ? [] : ['--', ...few]
  const result = await runCommand(situation, ['npm', 'test', ...words])
  const counts = /^\d+ passed, \d+ failed, \d+ skipped$/m.exec(result.output)?.[0]
  return { ...result, isGood: result.code === 0 && counts !== undefined, said: counts ?? lastLineOf(result.output) }
}

async function runCommand({ command, environment, cwd }, args, onOutput = () => {}) {
  const startedAt = Date.now()
  const [program, ...rest] = [...command, ...args]
  const child = spawn(program, rest, { cwd, env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const send = (signal) => signalGroup(child.pid, signal)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-200_000)
      onOutput(output, () => send('SIGINT'))
    })
  }
  const timer = setTimeout(() => send('SIGKILL'), limitMs)
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      output += error.message
      resolve(127)
    })
    child.once('exit', resolve)
  })
  clearTimeout(timer)
  send('SIGKILL')
  return { code, output, seconds: Math.round((Date.now() - startedAt) / 1000) }
}

const lastLineOf = (output) => output.trim().split('\n').at(-1)
