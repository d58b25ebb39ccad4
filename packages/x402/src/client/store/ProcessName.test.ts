import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as ProcessName from './ProcessName.js'

const skip = process.platform === 'linux' ? false : 'this machine has no /proc'

test('this process is running, and a later process with its number is another one', { skip }, () => {
  assert.equal(ProcessName.isRunning(ProcessName.own()), true)
  assert.equal(ProcessName.isRunning(`${process.pid} 1`), false)
})

test('a process that has ended is not running, even if its parent never collects it', { skip }, async (t) => {
  // The shell becomes a program that does not know the child of the shell, and so never waits for it.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'])
  t.after(() => parent.kill('SIGKILL'))
  const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string]
  const pid = line.trim()
  const fields = (): string[] =>
    readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
  while (fields()[0] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(ProcessName.isRunning(`${pid} ${fields()[19]}`), false)
})
