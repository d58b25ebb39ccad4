/** `latchkey gateway`: sells an HTTP service that knows nothing of payments. */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Network } from '@latchkey/algorand'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { command, jsonOption, readNumber } from '../Command.js'
import { chainOptions, checkNodes, openChain } from '../chain.js'
import { exitCodes } from '../exitCodes.js'
import { RunningGateway } from '../gateway/RunningGateway.js'
import { gatewayOptions, readSettings } from '../gateway/settings.js'
import { describe, printJson, printResult, printWarning } from '../messages.js'
import { logFileOptions, openServerLog } from '../serverLog.js'
import { startUnderSignals } from '../signals.js'
import { stateDirectory } from '../stack/stateDirectory.js'
import { version } from '../version.js'

const defaultPort = 8402

export const gatewayCommand = command({
  description: `Charge for the routes of an existing HTTP service, until Ctrl-C or SIGTERM. The service needs no changes. The gateway requests a \
payment for each priced route and forwards paid requests to the service. A GET is settled after the service has responded, and is not charged \
if it fails; other methods are settled before they are forwarded. The service gets the payer in X-Payment-Payer and the payment id in \
X-Payment-Id.`,
  options: {
    ...gatewayOptions,
    ...chainOptions,
    port: { type: 'string', short: 'p', placeholder: 'PORT', description: `port (${defaultPort}); 0 for a free one` },
    host: { type: 'string', placeholder: 'HOST', description: 'address to listen on (127.0.0.1)' },
    claims: {
      type: 'string',
      placeholder: 'FILE',
      completes: 'file',
      description: 'SQLite file that records used payments; do not delete it while payments may be repeated',
    },
    ...logFileOptions,
    ...jsonOption,
  },
  notes: `Without --claims, used payments are recorded in gateway.db in Latchkey's state directory. See docs/gateway.md for the members of the \
--config file: credentials for the service, limits for each payer, passes, discovery.`,
  examples: [
    "latchkey gateway --upstream http://127.0.0.1:8080 --price 'GET /v1/*=$0.01' --pay-to ADDRESS --facilitator https://facilitator.example",
    'latchkey gateway --network mainnet --config gateway.json --host 0.0.0.0 --port 443 --tls-cert fullchain.pem --tls-key privkey.pem',
  ],
  exits: ['unreachable', 'interrupted'],
  run: async ({ options }) => {
    const settings = readSettings(options, process.env)
    const port = readNumber('--port', options.port, 0, 65_535) ?? defaultPort
    const host = options.host ?? '127.0.0.1'
    const chain = await openChain(options, process.env)
    await checkNodes(chain, options, process.env)
    const path = options.claims ?? join(stateDirectory(), 'gateway.db')
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const claims = new SqliteClaims(path)
    const log = openServerLog(options)
    const onError = (error: unknown): void => log.write('error', describe(error))
    const onWarning = (text: string): void => log.write('warning', text)
    const parts = { chain, claims, onError, onWarning }
    const reload = async (running: RunningGateway): Promise<void> => {
      log.reopen()
      try {
        await running.reload(() => readSettings(options, process.env))
        log.write('info', 'settings reloaded')
      } catch (error) {
        // The old settings stay in use.
        onError(error)
      }
    }
    try {
      const running = await startUnderSignals(() => RunningGateway.start(parts, settings, { host, port }), {
        onHangup: (one) => void reload(one),
      })
      const facts = { version, url: running.url, upstream: settings.upstream, network: chain.caip2, claims: path }
      const routes = Object.entries(settings.routes).map(([key, { accepts }]) => {
        const [first] = [accepts].flat()
        return { route: key, price: first?.price, payTo: first?.payTo }
      })
      if (options.json) printJson({ ...facts, routes, pid: process.pid })
      else printResult(block(facts, routes))
      if (settings.tls === undefined && !/^(127\.|localhost$|::1$)/.test(host)) {
        printWarning('clients connect without TLS: give --tls-cert and --tls-key, or put a TLS proxy in front')
      }
      await running.stopped
    } finally {
      claims.close()
      await log.close()
    }
    return exitCodes.ok
  },
})

type Facts = { readonly url: string; readonly upstream: string; readonly network: string; readonly claims: string }

function block(
  { url, upstream, network, claims }: Facts,
  routes: readonly { route: string; price: unknown }[],
): string {
  const width = Math.max(...routes.map(({ route }) => route.length))
  const lines = routes.map(({ route, price }) => `${route.padEnd(width)}  ${String(price)}`)
  return `Latchkey gateway ${version}

  Address   ${url}
  Upstream  ${upstream}
  Network   ${Network.displayName(network)}
  Claims    ${claims}
  Sells     ${lines.join('\n            ')}

`
}
