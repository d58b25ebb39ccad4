// Reports one test process: one JSON line per test, and one at the end. A process that exits before its tests have
// ended writes no last line, so it cannot pass as a success.
import { appendFileSync, readFileSync } from 'node:fs'
import { inspect } from 'node:util'

const reportFile = process.env.LATCHKEY_TEST_REPORT
if (reportFile !== undefined) {
  process.on('exit', () => appendFileSync(reportFile, `${JSON.stringify({ type: 'process', ...usage() })}\n`))
}

/** @returns the lines for the events of this process */
// biome-ignore lint/style/noDefaultExport: node:test takes the default export of a module as its reporter
export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    yield `${JSON.stringify(recordOf(type === 'test:pass', data))}\n`
  }
  yield `${JSON.stringify({ type: 'end' })}\n`
}

function recordOf(isPassed, { name, nesting, skip, todo, details }) {
  const error = isPassed ? undefined : details.error
  return {
    type: details.type === 'suite' ? 'suite' : 'test',
    name,
    nesting,
    isPassed: isPassed || todo !== undefined,
    ms: Math.round(details.duration_ms),
    // The CPU time of a file is the difference between consecutive suites of a batch.
    ...(details.type === 'suite' && nesting === 0 ? { cpuMs: usage().cpuMs } : {}),
    // `true` marks a test that gives no reason.
    ...(skip === undefined ? {} : { skip: skip === true || skip === '' ? 'no reason given' : String(skip) }),
    ...(error === undefined ? {} : { isParent: error.failureType === 'subtestsFailed', error: describe(error) }),
  }
}

function describe(error) {
  const cause = error.code === 'ERR_TEST_FAILURE' && error.cause !== undefined ? error.cause : error
  return typeof cause === 'string' ? cause : inspect(cause, { depth: 4 })
}

/** Returns the wall time, and the CPU time of this process and the children that it waited for. */
function usage() {
  const { user, system } = process.cpuUsage()
  return { wallMs: Math.round(performance.now()), cpuMs: Math.round((user + system) / 1000) + childrenMs() }
}

/**
 * According to proc(5), fields 16 and 17 are the ticks of children. A tick is 10 ms on every Linux that Node runs on.
 */
function childrenMs() {
  try {
    const text = readFileSync('/proc/self/stat', 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) * 10
  } catch {
    return 0
  }
}
