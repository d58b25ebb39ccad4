/**
 * Opens a secret link in the browser. Every account of the machine can read the command line of a process, so the
 * browser is given a file instead, which only its user can read and which redirects to the link.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type OpenOptions = {
  /** How long the link is valid. The file is removed afterwards. */
  expiresSeconds: number
  /** Called with the name of the program that could not be started. */
  onFailure: (opener: string) => void
}

/** Returns the path of the file. */
export function openInBrowser(url: string, { expiresSeconds, onFailure }: OpenOptions): string {
  const directory = privateDirectory()
  const path = join(directory, 'console.html')
  writeFileSync(path, redirectPage(url), { mode: 0o600, flag: 'wx' })
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  start(opener, [path], () => onFailure(opener))
  // The command ends before the browser has read the file, so another process removes it.
  const remove = 'sleep "$1"; rm -f -- "$2/console.html"; rmdir -- "$2"'
  start('sh', ['-c', remove, 'sh', String(expiresSeconds), directory], () => {})
  return path
}

/**
 * mkdtemp creates a directory that only its owner can enter. The directory of a session is in memory and ends with it.
 */
function privateDirectory(): string {
  const name = 'latchkey-console-'
  try {
    return mkdtempSync(join(process.env['XDG_RUNTIME_DIR'] || tmpdir(), name))
  } catch {
    // Inherited from a session that has ended, or owned by another user.
    return mkdtempSync(join(tmpdir(), name))
  }
}

function start(program: string, args: readonly string[], onFailure: () => void): void {
  const child = spawn(program, args, { stdio: 'ignore', detached: true })
  child.on('error', onFailure)
  child.unref()
}

/** Replaces itself in the history, so that going back does not lead to an expired link. */
function redirectPage(url: string): string {
  const inScript = JSON.stringify(url).replaceAll('<', '\\u003c')
  const inAttribute = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Latchkey console</title>
<noscript><meta http-equiv="refresh" content="0; url=${inAttribute}"></noscript>
<script>location.replace(${inScript})</script>
<a href="${inAttribute}">Open the console</a>
</html>
`
}
