/**
 * Runs `npm` with the given arguments, for a page that installs packages. Pages install the same packages, and npm takes
 * longer than the rest of a page: an installation that has been made before is copied from `LATCHKEY_INSTALLS`.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Manifest = { [name: string]: unknown }

const args = process.argv.slice(2)
const { LATCHKEY_INSTALLS: folder, LATCHKEY_INSTALL_CERTIFICATES: certificates, ...inherited } = process.env
const env = { ...inherited, ...(certificates === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificates }) }

/** The members of package.json that decide what is installed. */
const deciding = ['dependencies', 'devDependencies', 'overrides']
const pick = (manifest: Manifest): Manifest =>
  Object.fromEntries(deciding.filter((name) => name in manifest).map((name) => [name, manifest[name]]))
const readManifest = (directory: string): Manifest =>
  JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest

/** Copies an installation with hard links, except for the file that npm writes in place. */
function copyInstallation(from: string, to: string): void {
  const [source, target] = [join(from, 'node_modules'), join(to, 'node_modules')]
  rmSync(target, { recursive: true, force: true })
  if (existsSync(source)) {
    const { status } = spawnSync('cp', ['-al', source, target], { stdio: 'inherit' })
    if (status !== 0) throw new Error(`cp ended with ${status}`)
    const written = '.package-lock.json'
    rmSync(join(target, written), { force: true })
    if (existsSync(join(source, written)))
      cpSync(join(source, written), join(target, written), { preserveTimestamps: true })
  }
  copyFileSync(join(from, 'package-lock.json'), join(to, 'package-lock.json'))
}

function runNpm(): number {
  return spawnSync('npm', args, { stdio: 'inherit', env }).status ?? 1
}

function install(kept: string): number {
  const here = process.cwd()
  if (existsSync(join(kept, 'package.json'))) {
    copyInstallation(kept, here)
    const manifest = { ...readManifest(here), ...pick(readManifest(kept)) }
    writeFileSync(join(here, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
    return 0
  }
  const status = runNpm()
  if (status !== 0) return status
  mkdirSync(kept, { recursive: true })
  copyInstallation(here, kept)
  // Last, because it marks a complete copy.
  copyFileSync(join(here, 'package.json'), join(kept, 'package.json'))
  return 0
}

if (args[0] === 'install' && folder !== undefined) {
  const key = JSON.stringify([args, pick(readManifest(process.cwd()))])
  process.exitCode = install(join(folder, createHash('sha256').update(key).digest('hex')))
} else {
  process.exitCode = runNpm()
}
