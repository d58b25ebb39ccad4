/** `latchkey proxy --to URL`: a local address by which any program uses a paid API within an agent's limits. */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Buyer, payingFetch } from '@latchkey/x402/client'
import { FilePassCache, FilePayments } from '@latchkey/x402/file'
import { agentOptions, agentSignerFrom } from '../agentToken.js'
import { command, jsonOption, readNumber } from '../Command.js'
import { chainOptions, openChain } from '../chain.js'
import { walletOptions } from '../daemon.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { quoted } from '../format.js'
import { explainListenError } from '../listenErrors.js'
import { describe, printJson, printResult } from '../messages.js'
import { createProxy } from '../proxy/createProxy.js'
import { logFileOptions, openServerLog } from '../serverLog.js'
import { startUnderSignals } from '../signals.js'

const defaultPort = 8403
const host = '127.0.0.1'
/** The buyer keeps a body until the request is paid for. */
const maxBodyBytes = 10 * 1024 * 1024
const maxConnections = 1_000

export const proxyCommand = command({
  description: `Give programs in any language a local address for a paid API, until Ctrl-C or SIGTERM. The proxy sends each request to the API \
and pays for it within the limits of an agent. If a payment would exceed a limit, the proxy does not pay, and the program gets 402 with the \
reason. Only programs on this machine can connect.`,
  options: {
    to: { type: 'string', placeholder: 'URL', description: 'address of the paid API' },
    max: {
      type: 'string',
      placeholder: 'PRICE',
      description: "maximum price of one request in dollars, such as '$0.05' ($1)",
    },
    port: { type: 'string', short: 'p', placeholder: 'PORT', description: `port (${defaultPort}); 0 for a free one` },
    ...agentOptions,
    'data-dir': walletOptions['data-dir'],
    ...chainOptions,
    log: {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'log of payments (~/.latchkey/proxy-payments.jsonl)',
    },
    ...logFileOptions,
    ...jsonOption,
  },
  notes: `Any user of this machine who can connect to the port can spend within the limits of the agent.`,
  examples: [
    'latchkey proxy --to https://api.example.com --agent-token-file shopper.token',
    'curl http://127.0.0.1:8403/v1/weather',
  ],
  exits: ['unreachable', 'interrupted'],
  run: async ({ options }) => {
    const to = originFrom(options.to)
    const port = readNumber('--port', options.port, 0, 65_535) ?? defaultPort
    const signer = await agentSignerFrom(options, process.env)
    if (signer === undefined) {
      throw new UsageError('no agent to pay with', {
        hint: 'give --agent-token-file; create an agent with latchkey agent new',
      })
    }
    const chain = await openChain(options, process.env)
    const path = options.log ?? join(homedir(), '.latchkey', 'proxy-payments.jsonl')
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const payments = new FilePayments(path)
    const buyer = new Buyer({ signer, chains: chain, payments, maxPerPayment: options.max ?? '$1' })
    const log = openServerLog(options)
    const onError = (error: unknown): void => log.write('error', describe(error))
    const listener = createProxy({
      to,
      pay: payingFetch(buyer, { maxBodyBytes, passes: new FilePassCache(`${path}.passes`) }),
      maxBodyBytes,
      onRequest: ({ method, path: requested, status }) => log.write('info', `${method} ${requested} ${status}`),
      onError,
    })
    const server = createServer(listener)
    server.maxConnections = maxConnections
    const closed = once(server, 'close')
    const stop = async (): Promise<void> => {
      server.close()
      server.closeIdleConnections()
      await closed
    }
    const running = await startUnderSignals(async () => {
      await new Promise<void>((resolve, reject) => {
        server.once('error', (error) => reject(explainListenError(error, { host, port })))
        server.listen(port, host, resolve)
      })
      return { url: `http://${host}:${(server.address() as AddressInfo).port}`, stop }
    })
    if (options.json) printJson({ url: running.url, to: to.href, payer: signer.address, pid: process.pid })
    else printResult(`Latchkey proxy\n\n  Address   ${running.url}\n  Sends to  ${to.href}\n  Payments  ${path}\n\n`)
    await closed
    await log.close()
    return exitCodes.ok
  },
})

function originFrom(text: string | undefined): URL {
  const hint = 'write it like https://api.example.com'
  if (text === undefined) throw new UsageError('--to is missing: the address of the paid API', { hint })
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isUsable =
    url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === ''
  if (isUsable) return url
  throw new UsageError(`--to cannot be ${quoted(text)}`, { code: 'invalid_value', hint })
}
