// `npm run version:set -- X.Y.Z`: sets that version in the manifest of every package, in every dependency on a package,
// and in the output shown on documentation pages. The unreleased changes in CHANGELOG.md get a heading with the
// version.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publishedPackages, root } from './packages.mjs'

const [version, ...others] = process.argv.slice(2)
if (others.length > 0 || !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version ?? '')) {
  console.error('usage: npm run version:set -- X.Y.Z')
  process.exit(2)
}

const published = publishedPackages()
const names = new Set(published.map(({ manifest }) => manifest.name))
const [
  {
    manifest: { version: previous },
  },
] = published

for (const path of manifests()) edit(path, setVersion)
for (const name of readdirSync(join(root, 'docs')).filter((one) => one.endsWith('.md'))) {
  edit(join('docs', name), (text) =>
    text
      .replaceAll(`daemon ${previous}`, `daemon ${version}`)
      .replaceAll(`facilitator ${previous}`, `facilitator ${version}`)
      .replaceAll(`devnet ${previous}`, `devnet ${version}`)
      .replaceAll(`"version":"${previous}"`, `"version":"${version}"`),
  )
}
edit('CHANGELOG.md', release)
execFileSync(
  'npm',
  [
    'install',
    '--package-lock-only',
    '--ignore-scripts',
    '--omit-lockfile-registry-resolved',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
console.log(`${names.size} packages are ${version}. Review the diff, commit it, and tag it v${version}.`)

/** Returns the manifests of all workspaces, because unpublished workspaces depend on published ones. */
function manifests() {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return workspaces
    .flatMap((pattern) =>
      pattern.endsWith('/*')
        ? readdirSync(join(root, pattern.slice(0, -2))).map((name) => join(pattern.slice(0, -2), name))
        : [pattern],
    )
    .map((directory) => join(directory, 'package.json'))
    .filter((path) => existsSync(join(root, path)))
}

function setVersion(text) {
  const manifest = JSON.parse(text)
  if (names.has(manifest.name)) manifest.version = version
  for (const field of ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']) {
    for (const name of Object.keys(manifest[field] ?? {})) if (names.has(name)) manifest[field][name] = version
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

function release(text) {
  if (text.includes(`\n## [${version}]`)) return text
  const today = new Date().toISOString().slice(0, 10)
  return text.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${today}\n`)
}

function edit(path, change) {
  const text = readFileSync(join(root, path), 'utf8')
  const changed = change(text)
  if (changed !== text) writeFileSync(join(root, path), changed)
}
