// Writes the site's texts for models: llms.txt (see llmstxt.org) lists the pages, and every page exists as Markdown.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { groups } from '../../site/navigation.mjs'
import { summaryOf, titleOf } from './pages.mjs'

/**
 * @param {string} folder the built site
 * @param {Map<string, { text: string }>} pages
 */
export function writeLlms(folder, pages) {
  const base = process.env.DOCS_BASE ?? '/'
  const line = (path) => {
    const { text } = pages.get(path)
    const summary = summaryOf(text)
    return `- [${titleOf(text)}](${base}${path})${summary === '' ? '' : `: ${firstSentence(summary)}`}`
  }
  const grouped = groups.map(({ text, pages: names }) => ({ text, paths: names.map((name) => `${name}.md`) }))
  const known = new Set(grouped.flatMap(({ paths }) => paths))
  const rest = [...pages.keys()].filter((path) => !known.has(path))
  const sections = [...grouped, { text: 'Optional', paths: rest }]
  const list = sections.map(({ text, paths }) => `## ${text}\n\n${paths.map(line).join('\n')}\n`)
  const about =
    '# Latchkey\n\n> A key management daemon and a pay-per-request (HTTP 402, x402) stack for Algorand, in TypeScript: ' +
    'keys stay in a daemon, agents spend within limits that the daemon enforces, and each payment is settled once.\n'
  writeFileSync(join(folder, 'llms.txt'), `${about}\n${list.join('\n')}`)
  const full = [...known].map((path) => pages.get(path).text.trimEnd())
  writeFileSync(join(folder, 'llms-full.txt'), `${full.join('\n\n---\n\n')}\n`)
  for (const [path, { text }] of pages) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function firstSentence(text) {
  return /^.*?[.!?](?= |$)/.exec(text)?.[0] ?? text
}
