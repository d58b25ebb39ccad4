/** `latchkey mcp`: runs an MCP server that lets a model pay within the limits of an agent. */
import { join } from 'node:path'
import { Server } from '@latchkey/http'
import { type AgentWallet, newWalletServer } from '@latchkey/mcp/wallet'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { command, jsonOption, readNumber } from '../Command.js'
import { exitCodes } from '../exitCodes.js'
import { quoted } from '../format.js'
import { explainListenError } from '../listenErrors.js'
import * as HttpToken from '../mcp/HttpToken.js'
import { maxHttpBodyBytes, mcpPath, newHttpHandler } from '../mcp/httpHandler.js'
import { mcpDirectory, openWallet } from '../mcp/openWallet.js'
import { walletServerOptions } from '../mcp/options.js'
import { printError, printJson, printMessage } from '../messages.js'
import { startUnderSignals } from '../signals.js'
import { version } from '../version.js'

const host = '127.0.0.1'
/** A client waits for a tool without receiving any data, for as long as the longest answer. */
const idleMs = 120_000

export const mcpCommand = command({
  description: `Run an MCP server for AI models, with tools that show an agent's budget, get the price of a URL, fetch a URL and \
pay for it within a maximum, and look up payments. The server accepts only an agent's token, and the key daemon enforces the limits: nothing that a model or \
a web site says can change them. The transport is stdin and stdout, or with --http streamable HTTP on ${host}.`,
  options: {
    ...walletServerOptions,
    http: { type: 'string', placeholder: 'PORT', description: `serve streamable HTTP on ${host}; 0 for a free port` },
    'http-token-file': {
      type: 'string',
      placeholder: 'PATH',
      completes: 'file',
      description: 'file with the bearer token for --http; created if missing (~/.latchkey/mcp/http.token)',
    },
    json: { ...jsonOption.json, description: 'with --http: print the address as one line of JSON' },
  },
  notes: `Without --allow-host and --allow-private, the server connects only to public addresses and only by https, also after redirects. \
To add the server to a client, run latchkey mcp install.`,
  examples: [
    'latchkey mcp --token-file ~/.latchkey/shopper.token --network testnet',
    'latchkey mcp --token-file shopper.token --http 4030',
    'latchkey mcp --token-file shopper.token --network local --node http://127.0.0.1:4001 --dollar 31566704 --allow-private',
  ],
  exits: ['unreachable', 'interrupted'],
  run: async ({ options }) => {
    const port = readNumber('--http', options.http, 0, 65_535)
    const { wallet, name } = await openWallet(options)
    if (port === undefined) return runStdio(wallet, name)
    const tokenFile = options['http-token-file'] ?? join(mcpDirectory(), 'http.token')
    const token = HttpToken.readOrCreate(tokenFile)
    const served = await startUnderSignals(() => startHttp(wallet, port, token))
    if (options.json) printJson({ version, url: served.url, tokenFile, agent: name, pid: process.pid })
    else
      printMessage(`latchkey mcp: agent ${quoted(name)} at ${served.url}; the bearer token is in ${quoted(tokenFile)}`)
    await served.stopped
    return exitCodes.ok
  },
})

/** Runs until the client closes stdin, or until a signal. */
async function runStdio(wallet: AgentWallet, name: string): Promise<number> {
  const onError = (error: Error): void => printError('mcp', error)
  const running = await startUnderSignals(async () => {
    const handle = serveStdio(() => newWalletServer(wallet, { version }), { onerror: onError })
    const ended = new Promise<void>((resolve) => {
      process.stdin.once('end', resolve)
      process.stdin.once('close', resolve)
    })
    return stoppable(wallet, ended, () => handle.close())
  })
  printMessage(`latchkey mcp: agent ${quoted(name)}, waiting for a client on stdin`)
  await running.stopped
  // After a signal, stdin may still be open and would keep the process running.
  process.stdin.destroy()
  return exitCodes.ok
}

type Stoppable = { readonly stop: () => Promise<void>; readonly stopped: Promise<void> }

async function startHttp(
  wallet: AgentWallet,
  port: number,
  token: string,
): Promise<Stoppable & { readonly url: string }> {
  const onError = (error: unknown): void => printError('mcp', error)
  const handler = newHttpHandler(() => newWalletServer(wallet, { version }), { token, onError })
  const server = new Server({ fetch: handler.fetch, onError, limits: { bodyBytes: maxHttpBodyBytes, idleMs } })
  const { port: bound } = await server.listen(host, port).catch((error: unknown) => {
    throw explainListenError(error, { host, port, cure: 'give another with --http, or 0 for a free one' })
  })
  const never = new Promise<void>(() => {})
  const close = async (): Promise<void> => {
    await handler.close()
    await server.stop()
  }
  return { url: `http://${host}:${bound}${mcpPath}`, ...stoppable(wallet, never, close) }
}

/** Ends when the server ends or on request. Sent payments are awaited; everything else is canceled. */
function stoppable(wallet: AgentWallet, ended: Promise<void>, close: () => Promise<void>): Stoppable {
  let end = (): void => {}
  const asked = new Promise<void>((resolve) => {
    end = resolve
  })
  const stopped = Promise.race([ended, asked]).then(async () => {
    await wallet.close()
    await close()
  })
  const stop = (): Promise<void> => {
    end()
    return stopped
  }
  return { stop, stopped }
}
