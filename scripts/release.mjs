// `npm run release`: publishes every package, dependencies first. With `-- --dry-run`, only shows what would be
// published.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, pack, table } from './pack.mjs'
import { publishedPackages, root } from './packages.mjs'

const [option, ...others] = process.argv.slice(2)
if (others.length > 0 || ![undefined, '--dry-run'].includes(option)) {
  console.error('usage: npm run release [-- --dry-run]')
  process.exit(2)
}
const isDryRun = option === '--dry-run'

const faults = check()
if (faults.length > 0 && !isDryRun) {
  console.error(faults.join('\n'))
  process.exit(1)
}
build()
const folder = join(root, 'dist-packages')
const reports = pack(folder)
// Loaded after the build, because the reference pages are built from compiled modules.
const { packDocs } = await import('./pack-docs.mjs')
const documentation = await packDocs(folder)
console.log(`In this order:\n\n${table(reports)}\n\nDocumentation, to attach to the release: ${documentation}\n`)
if (isDryRun) {
  for (const { name, version, files } of reports) {
    console.log(`${name}@${version}`)
    for (const { path, size } of files) console.log(`  ${String(size).padStart(8)}  ${path}`)
  }
  for (const fault of faults) console.log(`\nA release would stop here: ${fault}`)
  console.log('\nNothing was published: this is a dry run.')
} else {
  for (const { name, version, filename } of reports) publish(name, version, join(folder, filename))
}

/** Checks the preconditions of a release. */
function check() {
  const versions = new Set(publishedPackages().map(({ manifest }) => manifest.version))
  const [version] = versions
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' })
  return [
    ...(versions.size > 1
      ? [`the packages have different versions: ${[...versions].join(', ')}; run npm run version:set`]
      : []),
    ...(changelog.includes(`\n## [${version}] - `)
      ? []
      : [`CHANGELOG.md has no heading for ${version}; run npm run version:set`]),
    ...(changed === '' ? [] : ['there are uncommitted changes']),
  ]
}

/** Publishes a version, or skips it if it is already published, so an interrupted release can be run again. */
function publish(name, version, tarball) {
  const { status } = spawnSync('npm', ['view', `${name}@${version}`, 'version'], { stdio: 'ignore' })
  if (status === 0) {
    console.log(`${name}@${version} is already published`)
    return
  }
  execFileSync('npm', ['publish', tarball, '--access', 'public'], { cwd: root, stdio: 'inherit' })
}
