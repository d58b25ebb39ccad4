/** Runs a program of this directory in separate namespaces; everything that it starts stops with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

type Scope = { after: (work: () => unknown) => void }

const flags = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** LATCHKEY_FAULTS_LOG names a directory in which to keep the logs. */
export async function runInNamespaces(
  t: Scope,
  module: string,
  env: { readonly [name: string]: string },
): Promise<{ lines: unknown[]; directory: string }> {
  const kept = process.env['LATCHKEY_FAULTS_LOG']
  const directory = mkdtempSync(join(kept ?? tmpdir(), 'latchkey-faults-'))
  const file = fileURLToPath(new URL(`./${module}-process.test.helper.js`, import.meta.url))
  const child = spawn('unshare', [...flags, process.execPath, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env, FAULTS_DIRECTORY: directory },
  })
  t.after(async () => {
    const hasEnded = child.exitCode !== null || child.signalCode !== null
    child.kill('SIGKILL')
    if (!hasEnded) await once(child, 'exit')
    if (kept === undefined) rmSync(directory, { recursive: true, force: true })
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`${module} ended with code ${code}`)
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  return { lines: lines.map((line) => JSON.parse(line) as unknown), directory }
}
