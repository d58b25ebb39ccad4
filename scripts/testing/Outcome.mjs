// Collects the outcome of a run of test modules: the result of each file, the counts, and the closing block.
import { relative } from 'node:path'
import { root } from '../packages.mjs'
import { withSources } from './sources.mjs'

/** Returns the results of the files of one module, each as `{ file, passed, failures, skips, ms }`. */
export function filesOf({ module, records, problem, output }) {
  const files = module.files.length === 1 ? [fileOf(module.files[0], records)] : splitByFile(module, records)
  if (problem !== undefined && files.every(({ failures }) => failures.length === 0)) {
    // The first file without an end was running when the process exited.
    const culprit = files.find(({ isEnded }) => !isEnded) ?? files.at(-1)
    culprit.failures.push({ name: culprit.file, error: [problem, output.trim()].filter(Boolean).join('\n') })
  }
  return files
}

/** A batch reports one suite per file, after the tests of that file. */
function splitByFile({ files }, records) {
  const found = new Map()
  let pending = []
  let cpuMs = 0
  for (const record of records) {
    pending.push(record)
    if (record.type === 'suite' && record.nesting === 0 && files.includes(record.name)) {
      found.set(record.name, {
        ...fileOf(record.name, pending),
        ms: record.ms,
        cpuMs: record.cpuMs - cpuMs,
        isEnded: true,
      })
      cpuMs = record.cpuMs
      pending = []
    }
  }
  const rest = pending.filter(({ type }) => type === 'test')
  return files.map((file) => {
    const result = found.get(file)
    if (result !== undefined) return result
    return { ...fileOf(file, rest.splice(0)), isEnded: false }
  })
}

function fileOf(file, records) {
  const tests = records.filter(({ type }) => type === 'test')
  // A parent that fails only because of its tests is not a second failure. A failed hook has no other record.
  const failed = records.filter(({ isPassed, isParent }) => isPassed === false && isParent !== true)
  const usage = records.find(({ type }) => type === 'process')
  return {
    file,
    passed: tests.filter(({ isPassed, skip }) => isPassed && skip === undefined).length,
    failures: failed.map(({ name, error }) => ({ name, error })),
    skips: tests.filter(({ skip }) => skip !== undefined).map(({ name, skip }) => ({ name, reason: skip })),
    ms: usage?.wallMs ?? 0,
    cpuMs: usage?.cpuMs ?? 0,
    isEnded: records.some(({ type }) => type === 'end'),
  }
}

/** Returns `N passed, N failed, N skipped`. */
export function countsLine(files) {
  const sum = (count) => files.reduce((total, file) => total + count(file), 0)
  const passed = sum(({ passed }) => passed)
  const failed = sum(({ failures }) => failures.length)
  return `${passed} passed, ${failed} failed, ${sum(({ skips }) => skips.length)} skipped`
}

/** Returns every failure with its error. */
export function failureLines(files) {
  return files.flatMap(({ file, failures }) =>
    failures.flatMap(({ name, error }) => ['', `✖ ${nameOf(file)}: ${name}`, indent(withSources(error))]),
  )
}

/** Returns the skipped tests, grouped by reason. */
export function skipLines(files) {
  const byReason = new Map()
  for (const { file, skips } of files) {
    for (const { name, reason } of skips) {
      const named = byReason.get(reason) ?? []
      byReason.set(reason, [...named, `${nameOf(file)}: ${name}`])
    }
  }
  return [...byReason].flatMap(([reason, names]) => [
    `SKIPPED, ${reason}:`,
    ...names.slice(0, 20).map((name) => `  ${name}`),
    ...(names.length > 20 ? [`  and ${names.length - 20} more`] : []),
  ])
}

/** Returns the name of a test file: the path of its source. */
export const nameOf = (file) =>
  relative(root, file.startsWith('/') ? file : `${root}/${file}`)
    .replace(/(^|\/)dist\//, file.startsWith('packages') ? '$1src/' : '$1')
    .replace(/\.test\.js$/, '')

const indent = (text) =>
  text
    .split('\n')
    .slice(0, 60)
    .map((line) => `    ${line}`)
    .join('\n')
