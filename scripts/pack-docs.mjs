// Packs the documentation with its reference pages, which are built and not committed: latchkey-docs-VERSION.tar.gz.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { writeReference } from './docs.mjs'
import { publishedPackages, root } from './packages.mjs'

/** Installed, built or secret files. */
const excluded = /(^|\/)(node_modules|dist|secrets|__pycache__)(\/|$)/

/**
 * Writes the archive to a folder, after removing other versions of it.
 * @returns its path
 */
export async function packDocs(folder) {
  const [{ manifest }] = publishedPackages()
  const name = `latchkey-docs-${manifest.version}`
  const staging = mkdtempSync(join(tmpdir(), 'latchkey-docs-'))
  try {
    const top = join(staging, name)
    const built = (await writeReference(join(top, 'docs'))).map((path) => `docs/${path}`)
    const copied = writtenFiles().filter((path) => !built.includes(path))
    const packed = new Set([...copied, ...built])
    for (const path of copied) write(join(top, path), readFileSync(join(root, path)))
    for (const path of [...packed].filter((one) => one.endsWith('.md'))) {
      write(join(top, path), unlink(readFileSync(join(top, path), 'utf8'), path, packed))
    }
    mkdirSync(folder, { recursive: true })
    for (const old of readdirSync(folder).filter((one) => /^latchkey-docs-.*\.tar\.gz$/.test(one)))
      rmSync(join(folder, old))
    const archive = join(folder, `${name}.tar.gz`)
    execFileSync('tar', ['-czf', archive, '-C', staging, name])
    return archive
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Returns the written files of the documentation. Their paths in the archive are those in the repository. */
function writtenFiles() {
  const below = ['docs', 'examples', 'deploy'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
  )
  const readmes = publishedPackages().map(({ directory }) => join(directory, 'README.md'))
  const top = readdirSync(root).filter((name) => /^[A-Z]+(\.md)?$/.test(name))
  return [...top, ...readmes, ...below.filter((path) => !excluded.test(path) && statSync(join(root, path)).isFile())]
}

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** Replaces links to files that the archive does not have, such as sources, by their text. */
function unlink(text, page, packed) {
  const isPacked = (target) => packed.has(target) || [...packed].some((path) => path.startsWith(`${target}/`))
  return text.replaceAll(/(?<!!)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, label, address) => {
    if (/^https?:|^#/.test(address)) return link
    return isPacked(posix.join(posix.dirname(page), address.split('#')[0]).replace(/\/$/, '')) ? link : label
  })
}
