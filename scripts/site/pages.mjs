// Stages the pages of the documentation site: maps each Markdown file of the repository to a page, and its links with it.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { groups } from '../../site/navigation.mjs'
import { referencePages } from '../docs.mjs'
import { root } from '../packages.mjs'

/** Pages whose name on the site differs from their path below docs/. */
const names = {
  'README.md': 'project.md',
  'SECURITY.md': 'security-policy.md',
  'CONTRIBUTING.md': 'contributing.md',
  'CHANGELOG.md': 'changelog.md',
  'docs/README.md': 'overview.md',
  'docs/api/README.md': 'api/index.md',
  'examples/README.md': 'examples/index.md',
}

/** Files that pages may link to, which the site has as text files. */
const isFile = (path) => /^(docs|examples|deploy)\/|^LICENSE$/.test(path)

/**
 * Reads every page of the site.
 * @returns {Promise<Map<string, { source: string, text: string }>>} the pages by their path on the site
 */
export async function readPages() {
  const texts = new Map()
  for (const path of writtenPages()) texts.set(path, readFileSync(join(root, path), 'utf8'))
  for (const [path, text] of await referencePages()) texts.set(`docs/${path}`, text)
  return new Map([...texts].map(([source, text]) => [pagePath(source), { source, text }]))
}

/** Writes the pages, their files and the navigation below a folder, in place of older ones. */
export async function stagePages(folder, pictures = []) {
  rmSync(folder, { recursive: true, force: true })
  const pages = await readPages()
  const sources = new Set([...pages.values()].map(({ source }) => source))
  const files = new Set()
  for (const [path, { source, text }] of pages) {
    const linked = mapLinks(text, source, path, sources, files)
    write(join(folder, path), nameFences(addPictures(linked, source, pictures)))
  }
  for (const path of files) write(join(folder, 'public', textFile(path)), readFileSync(join(root, path)))
  for (const { name, bytes } of pictures) write(join(folder, 'public', 'pictures', name), bytes)
  write(join(folder, 'index.md'), readFileSync(join(root, 'site', 'index.md')))
  write(join(folder, 'navigation.json'), JSON.stringify(navigation(pages)))
  return pages
}

/** Returns the title of a page, without Markdown. */
export function titleOf(text) {
  return /^# (.*)$/m.exec(text)?.[1].replaceAll('`', '') ?? ''
}

/** Returns the first paragraph of a page as one line of text. */
export function summaryOf(text) {
  const [, paragraph = ''] = /^# [^\n]*\n+((?:[^\n#|`>-][^\n]*\n?)+)/m.exec(text) ?? []
  return paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function writtenPages() {
  const below = (folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
      .map(({ name }) => `${folder}/${name}/README.md`)
      .filter(exists)
  const docs = readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => `docs/${name}`)
    .filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/'))
  const top = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  return [...top, ...docs, ...below('packages'), 'examples/README.md', ...below('examples')]
}

function pagePath(source) {
  return names[source] ?? source.replace(/^docs\//, '').replace(/^((?:packages|examples)\/[^/]+)\/README\.md$/, '$1.md')
}

/** Maps the links of a page outside its code blocks. A link to something that the site does not have becomes text. */
function mapLinks(text, source, path, sources, files) {
  const map = (link, label, address) => {
    if (/^(https?:|mailto:|#)/.test(address)) return link
    const [file, anchor] = address.split('#')
    const target = posix.join(posix.dirname(source), file).replace(/\/$/, '')
    const page = [target, `${target}/README.md`].find((one) => sources.has(one))
    if (page !== undefined) {
      const to = posix.relative(posix.dirname(path), pagePath(page))
      return `[${label}](${to.startsWith('.') ? to : `./${to}`}${anchor === undefined ? '' : `#${anchor}`})`
    }
    if (!isFile(target) || !exists(target) || !statSync(join(root, target)).isFile()) return label
    files.add(target)
    return `[${label}](/${textFile(target)})`
  }
  return outsideFences(text, (prose) =>
    prose.replaceAll(/<!--.*?-->\n*/gs, '').replaceAll(/(?<!!)\[([^\]]*)\]\(([^)\s]+)\)/g, map),
  )
}

/** With this ending, every server and browser shows the file instead of offering it as a download. */
function textFile(path) {
  return `files/${path}.txt`
}

/** Shows the file name of a block, such as "```js seller.js", above the block. */
function nameFences(text) {
  return text.replaceAll(
    /^( *)```(\w*) +([\w./@-]+)$/gm,
    (_, indent, language, name) => `${indent}\`${name}\`:\n\n${indent}\`\`\`${language}`,
  )
}

function addPictures(text, source, pictures) {
  let result = text
  for (const { after, alt, name } of pictures.filter(({ page }) => page === source)) {
    if (!result.includes(`\n${after}\n`)) throw new Error(`${source} has no heading ${after} for the picture ${name}`)
    result = result.replace(`\n${after}\n`, `\n${after}\n\n![${alt}](/pictures/${name})\n`)
  }
  return result
}

function navigation(pages) {
  const item = (name) => {
    const page = pages.get(`${name}.md`)
    if (page === undefined) throw new Error(`site/navigation.mjs names ${name}, which is no page`)
    return { text: titleOf(page.text), link: `/${name.replace(/index$/, '')}` }
  }
  const listed = (prefix) =>
    [...pages.keys()].filter((path) => path.startsWith(prefix)).map((path) => path.slice(0, -3))
  const list = (text, names) => ({ text, items: names.map(item) })
  const guides = groups.map(({ text, pages: names }) => list(text, names))
  const sidebar = {
    '/api/': [list('API', listed('api/'))],
    '/': [...guides, list('Examples', listed('examples/')), list('Packages', listed('packages/'))],
  }
  const nav = [
    { text: 'Tutorial', link: '/tutorial' },
    { text: 'Guides', link: '/overview' },
    { text: 'Commands', link: '/cli' },
    { text: 'API', link: '/api/' },
    { text: 'Troubleshooting', link: '/troubleshooting' },
  ]
  return { sidebar, nav }
}

/** Applies a function to the parts of a page that are not code blocks. */
function outsideFences(text, change) {
  return text
    .split(/(^ *```.*?^ *```$)/ms)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}

function exists(path) {
  return statSync(join(root, path), { throwIfNoEntry: false }) !== undefined
}

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
