// Packs the commands and everything of ours that they need into one tarball, which `npx --package` runs without the
// registry having any of our packages.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const commandPackage = 'latchkey'

/**
 * Writes `all/latchkey-all.tgz` below the folder, from the tarballs in it. A separate folder, because
 * `npm install dist-packages/*.tgz` must not install it too.
 *
 * @param reports the reports of `pack`
 * @returns its path
 */
export function packAll(folder, reports) {
  const stage = mkdtempSync(join(tmpdir(), 'latchkey-all-'))
  try {
    const whole = join(stage, 'package')
    const own = reports.filter(({ name }) => name !== commandPackage)
    unpack(join(folder, reports.find(({ name }) => name === commandPackage).filename), whole)
    for (const { name, filename } of own)
      unpack(join(folder, filename), join(whole, 'node_modules', ...name.split('/')))
    writeManifest(
      whole,
      own.map(({ name }) => name),
    )
    const target = join(folder, 'all')
    mkdirSync(target, { recursive: true })
    const path = join(target, 'latchkey-all.tgz')
    execFileSync('tar', ['-czf', path, '-C', stage, 'package'])
    return path
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function unpack(tarball, directory) {
  mkdirSync(directory, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', directory, '--strip-components=1'])
}

/** Our packages are bundled; npm installs the others, which are listed at the top so that it needs no lookup for ours. */
function writeManifest(whole, names) {
  const read = (directory) => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const manifest = read(whole)
  const all = [manifest, ...names.map((name) => read(join(whole, 'node_modules', ...name.split('/'))))]
  const isOurs = new Set(names)
  const others = all.flatMap(({ dependencies = {} }) =>
    Object.entries(dependencies).filter(([name]) => !isOurs.has(name)),
  )
  const own = names.map((name) => [name, manifest.version])
  const merged = {
    ...manifest,
    name: 'latchkey-all',
    description: 'The commands latchkey and kmd with all packages of Latchkey',
    dependencies: Object.fromEntries([...own, ...others].sort(([a], [b]) => (a < b ? -1 : 1))),
    bundleDependencies: names,
  }
  writeFileSync(join(whole, 'package.json'), `${JSON.stringify(merged, undefined, 2)}\n`)
}
