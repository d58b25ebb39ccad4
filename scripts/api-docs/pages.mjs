// Writes docs/api: one page per entry of each package, from the TSDoc in its declarations.
import { apiEntries } from './entries.mjs'
import { headerOf, openEntries } from './read.mjs'

/** Longer declarations are cut; the table below each declaration lists the members. */
const maxLines = 24

/** @returns {Map<string, string>} the text of each page, by page name */
export function apiPages() {
  const { entries, exportsOf } = open()
  const homes = homesOf(entries, exportsOf)
  const pages = new Map()
  const rows = []
  for (const entry of entries) {
    const list = exportsOf(entry)
    rows.push(`| [\`${entry.name}\`](${entry.page}) | ${list.map(({ name }) => `\`${name}\``).join(', ')} |`)
    const sections = list.map((one) => sectionOf(one, entry, homes))
    pages.set(entry.page, `# ${entry.name}\n\n${introductionOf(entry)}\n\n${sections.join('\n')}`)
  }
  pages.set('README.md', `${head}${rows.join('\n')}\n`)
  return pages
}

/** The header of the entry, or the description of its package. */
function introductionOf({ types, description }) {
  return headerOf(types) || `${description}.`
}

/** Lists exports, and functions of namespaces, that have no documentation. */
export function undocumented() {
  const { entries, exportsOf } = open()
  return entries.flatMap((entry) =>
    exportsOf(entry)
      .flatMap((one) => [one, ...(one.isNamespace ? one.members : [])])
      .filter(({ text }) => text === '')
      .map(({ name }) => `${entry.name}: ${name}`),
  )
}

/** Caches the exports, because reading them is slow. */
let opened
function open() {
  if (opened === undefined) {
    const entries = apiEntries()
    const read = openEntries(entries)
    const exports = new Map(entries.map((entry) => [entry, read(entry)]))
    opened = { entries, exportsOf: (entry) => exports.get(entry) }
  }
  return opened
}

const head = `# API reference

\`npm run docs\` writes these pages from the TSDoc of the packages; do not edit them. For explanations and examples, see
[the guides](../README.md); for every error code, see [errors.md](../errors.md).

| import from | exports |
|---|---|
`

/**
 * If several entries export the same declaration, the most deeply nested entry describes it, under the name that it has
 * there.
 */
function homesOf(entries, exportsOf) {
  const depth = ({ name }) => name.split('/').length
  const homes = new Map()
  for (const entry of [...entries].sort((a, b) => depth(b) - depth(a))) {
    for (const { target, name } of exportsOf(entry)) if (!homes.has(target)) homes.set(target, { entry, name })
  }
  return homes
}

function sectionOf(one, entry, homes) {
  const home = homes.get(one.target).entry
  const title = `## ${one.name}\n\n`
  if (home !== entry) return title + link(one, homes)
  if (!one.isNamespace) return title + body(one)
  const members = one.members.map(
    (member) => `### ${member.name}\n\n${homes.has(member.target) ? link(member, homes) : body(member)}`,
  )
  return `${title}${paragraph(one.text)}\n${members.join('\n')}`
}

function link({ target, text }, homes) {
  const { entry, name } = homes.get(target)
  return `${paragraph(summary(text))}\nSee [\`${entry.name}\`](${entry.page}#${anchor(name)}).\n`
}

function body({ name, text, tags, members, signatures }) {
  const shown = name.endsWith('errors') ? ['const errors: ErrorRegistry'] : signatures
  const code = shown.length === 0 ? '' : `\n\`\`\`ts\n${shown.map(cut).join('\n')}\n\`\`\`\n`
  return `${paragraph(text)}${code}${memberTable(members)}${tagText(tags)}`
}

function paragraph(text) {
  return text === '' ? '' : `${text}\n`
}

function cut(signature) {
  const lines = signature.split('\n')
  return lines.length <= maxLines ? signature : [...lines.slice(0, maxLines - 2), '    // ...', lines.at(-1)].join('\n')
}

function memberTable(members) {
  const said = members.filter(({ text, tags }) => text !== '' || tags.some(({ name }) => name === 'default'))
  if (said.length === 0) return ''
  const rows = said.map(({ name, text, tags }) => {
    const standard = tags.find((tag) => tag.name === 'default')?.text ?? ''
    return `| \`${name}\` | ${cell(standard)} | ${cell([text, ...throwsOf(tags)].join(' '))} |`
  })
  return `\n| member | default | |\n|---|---|---|\n${rows.join('\n')}\n`
}

function throwsOf(tags) {
  return tags.filter(({ name }) => name === 'throws').map(({ text }) => `Throws: ${text}`)
}

function cell(text) {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
}

const listed = { param: 'Parameters', returns: 'Returns', throws: 'Throws', default: 'Default' }

function tagText(tags) {
  const lists = Object.entries(listed).map(([name, title]) => {
    const texts = tags.filter((tag) => tag.name === name && tag.text !== '').map(({ text }) => parameter(name, text))
    return texts.length === 0 ? '' : `\n${title}:\n\n${texts.map((text) => `- ${text}`).join('\n')}\n`
  })
  const examples = tags.filter(({ name }) => name === 'example').map(({ text }) => `\n${example(text)}\n`)
  return [...lists, ...examples].join('')
}

function parameter(tag, text) {
  const plain = text.replaceAll(/\s*\n\s*/g, ' ')
  return tag === 'param' ? plain.replace(/^(\S+)\s*-?\s*/, '`$1`: ') : plain
}

function example(text) {
  return text.includes('```') ? text : `\`\`\`ts\n${text}\n\`\`\``
}

function summary(text) {
  return text.split(/\n\n/)[0]
}

function anchor(name) {
  return name.toLowerCase().replaceAll('.', '')
}
