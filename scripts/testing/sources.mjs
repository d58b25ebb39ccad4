// Maps positions of compiled code in a stack trace to positions in the sources. Tests run without
// `--enable-source-maps`: Node would read the map of every module that it loads, and only failures need the maps.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Matches an absolute path of a script with line and column, as a path or as a `file:` URL. */
const place = /((?:file:\/\/)?\/[^\s():'"]+\.[cm]?js):(\d+):(\d+)/g

const maps = new Map()

/** Replaces every position that has a source map by the position in the source. */
export function withSources(text) {
  return text.replace(place, (found, script, line, column) => {
    try {
      return (
        sourceOf(script.startsWith('file:') ? fileURLToPath(script) : script, Number(line), Number(column)) ?? found
      )
    } catch {
      // An unreadable map must not hide the failure.
      return found
    }
  })
}

function sourceOf(script, line, column) {
  if (!maps.has(script)) maps.set(script, readMap(script))
  // Stack traces count from 1, source maps from 0.
  const entry = maps.get(script)?.findEntry(line - 1, column - 1)
  if (entry?.originalSource === undefined) return undefined
  const { originalSource, originalLine, originalColumn } = entry
  return `${resolve(dirname(script), originalSource)}:${originalLine + 1}:${originalColumn + 1}`
}

function readMap(script) {
  const path = `${script}.map`
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined
}
