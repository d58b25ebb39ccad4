/**
 * An operator traces `latchkey facilitator` with a setup module that is loaded first, as docs/deploying.md describes.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { latchkeyCommand, startDevnet } from '../support/devnet.test.helper.js'
import { atEnd, temporaryDirectory, until } from './commands.test.helper.js'

const require = createRequire(import.meta.url)
const urlOf = (name: string): string => JSON.stringify(pathToFileURL(require.resolve(name)).href)

test('spans of the command use the SDK that was loaded first, wherever it is installed', async (t) => {
  const directory = temporaryDirectory(t)
  const { facts } = await startDevnet(t)
  const output = join(directory, 'spans')
  writeFileSync(
    join(directory, 'tracing.mjs'),
    `import { appendFileSync } from 'node:fs'
    import api from ${urlOf('@opentelemetry/api')}
    import hooks from ${urlOf('@opentelemetry/context-async-hooks')}
    import core from ${urlOf('@opentelemetry/core')}
    import sdk from ${urlOf('@opentelemetry/sdk-trace-base')}
    const exporter = {
      export: (spans, done) => {
        for (const span of spans) appendFileSync(${JSON.stringify(output)}, JSON.stringify([span.name, span.spanContext().traceId, span.attributes]) + '\\n')
        done({ code: 0 })
      },
      shutdown: async () => {},
    }
    api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable())
    api.propagation.setGlobalPropagator(new core.W3CTraceContextPropagator())
    api.trace.setGlobalTracerProvider(new sdk.BasicTracerProvider({ spanProcessors: [new sdk.SimpleSpanProcessor(exporter)] }))
    `,
  )
  const chain = ['--network', 'local', '--node', facts.url, '--dollar', '31566704', '--port', '0', '--json']
  const child = spawn(process.execPath, [latchkeyCommand, 'facilitator', ...chain], {
    env: {
      PATH: process.env['PATH'],
      HOME: directory,
      AVM_MNEMONIC: facts.accounts[0]!.mnemonic,
      NODE_OPTIONS: `--import ${pathToFileURL(join(directory, 'tracing.mjs')).href}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  atEnd(t, () => child.kill('SIGKILL'))
  let printed = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  await until(`the facilitator: ${errors}`, () => printed.endsWith('\n'))
  const { url } = JSON.parse(printed) as { url: string }
  const traceId = '0123456789abcdef0123456789abcdef'
  const response = await fetch(`${url}/verify`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      traceparent: `00-${traceId}-0123456789abcdef-01`,
      'X-Request-Id': 'gate-7',
    },
    body: JSON.stringify({ paymentPayload: { x402Version: 1 }, paymentRequirements: {} }),
  })
  assert.equal(response.headers.get('X-Request-Id'), 'gate-7')
  const spans = await until('its span', () => {
    const lines = existsSync(output) ? readFileSync(output, 'utf8').trim().split('\n') : []
    const found = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as [string, string, object])
    return found.some(([name]) => name === 'facilitator.verify') && found
  })
  const verify = spans.find(([name]) => name === 'facilitator.verify')!
  assert.deepEqual(verify.slice(1), [
    traceId,
    { 'latchkey.request_id': 'gate-7', 'latchkey.outcome': 'invalid_exact_avm_invalid_version' },
  ])
  assert.ok(
    spans.some(([name]) => name.startsWith('GET /v2/')),
    'calls of nodes are traced too',
  )
})
