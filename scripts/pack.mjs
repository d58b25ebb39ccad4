// `npm run pack`: builds the project and writes the tarball of every package, one tarball of everything, and the
// documentation, to dist-packages/ (or to the given folder). Ends with the commands that use them.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packAll } from './pack-all.mjs'
import { publishedPackages, root } from './packages.mjs'

/**
 * Writes all tarballs to one folder, after removing other tarballs from it.
 * @returns the report of `npm pack` for each package: name, version, filename, size, unpackedSize, files; in dependency
 * order
 */
export function pack(folder) {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.tgz'))) rmSync(join(folder, name))
  const packages = publishedPackages()
  for (const { directory } of packages) removeOrphans(join(root, directory, 'dist'))
  // npm includes a licence only from the package's own folder; these copies are not in git.
  for (const { directory } of packages) copyFileSync(join(root, 'LICENSE'), join(root, directory, 'LICENSE'))
  const workspaces = packages.flatMap(({ manifest }) => ['--workspace', manifest.name])
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder, ...workspaces]
  const output = execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const reports = JSON.parse(output)
  const byName = new Map((Array.isArray(reports) ? reports : Object.values(reports)).map((one) => [one.name, one]))
  return packages.map(({ manifest }) => byName.get(manifest.name))
}

export function build() {
  execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { cwd: root, stdio: ['ignore', 2, 2] })
}

/** Removes compiled files without a source, because the compiler keeps the output of renamed and deleted sources. */
function removeOrphans(dist) {
  const maps = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.js.map'))
  for (const map of maps.map((name) => join(dist, name))) {
    const { sources } = JSON.parse(readFileSync(map, 'utf8'))
    if (sources.every((source) => existsSync(join(dirname(map), source)))) continue
    const stem = map.slice(0, -'.js.map'.length)
    for (const end of ['.js', '.js.map', '.d.ts']) rmSync(`${stem}${end}`, { force: true })
  }
}

export function table(reports) {
  const rows = reports.map(({ name, version, size, unpackedSize, files }) => [
    name,
    version,
    `${(size / 1024).toFixed(0)} kB`,
    `${(unpackedSize / 1024).toFixed(0)} kB unpacked`,
    `${files.length} files`,
  ])
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The commands that use the tarballs. They work in any folder, because the paths are absolute. */
export function nextSteps(folder, all) {
  return [
    `In your own project:   npm install ${shellWord(folder)}/*.tgz`,
    `The commands alone:    npx --package ${shellWord(all)} latchkey dev`,
  ]
}

function shellWord(path) {
  return /^[\w/.:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = resolve(process.argv[2] ?? join(root, 'dist-packages'))
  build()
  const reports = pack(folder)
  console.log(table(reports))
  // Loaded after the build, because the reference pages are built from compiled modules.
  const { packDocs } = await import('./pack-docs.mjs')
  console.log(`\nDocumentation: ${basename(await packDocs(folder))}`)
  const all = packAll(folder, reports)
  console.log(`\nwritten to ${folder}\n`)
  for (const line of nextSteps(folder, all)) console.log(line)
}
