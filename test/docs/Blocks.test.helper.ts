/** Extracts the fenced blocks of the documentation pages. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/daemon.test.helper.js'
import { isReference } from './Reference.test.helper.js'

export type Block = {
  /** The page, as a path from the root. */
  readonly page: string
  /** The first line of the block, for messages that an editor can jump to. */
  readonly line: number
  /** The word after the fence; blank if there is none. */
  readonly language: string
  /** The rest of the line after that word, such as the file name of a JSON block. */
  readonly about: string
  readonly text: string
  /** The heading of the section that contains the block; blank before the first heading. */
  readonly section: string
}

/** Returns every committed page under test, in the order in which people read them. */
export function pages(): string[] {
  const below = (directory: string): string[] =>
    readdirSync(join(root, directory), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${directory}/${name}/README.md`)
      .filter((page) => existsSync(join(root, page)))
  const docs = readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .filter((page) => !isReference(page))
  return ['README.md', ...docs, ...below('packages'), 'examples/README.md', ...below('examples')]
}

export function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

/** @param text - the text of a page that is built rather than committed */
export function blocksOf(page: string, text = textOf(page)): Block[] {
  const fence = /^(?<indent> *)```(?<language>\S*)(?: +(?<about>[^\n]*))?\n(?<body>.*?)^\k<indent>```$/gms
  return [...text.matchAll(fence)].map(({ index, groups }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    language: groups!['language']!,
    about: groups!['about'] ?? '',
    section: [...text.slice(0, index).matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? '',
    text: groups!['body']!.replaceAll(new RegExp(`^${groups!['indent']}`, 'gm'), ''),
  }))
}

export function nameOf({ page, line, language }: Block): string {
  return `${page}:${line} (${language === '' ? 'no language' : language})`
}
