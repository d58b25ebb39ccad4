/** A running gateway: its server, and the settings that SIGHUP replaces. */
import { createServer, type Server } from 'node:http'
import { type Gateway, openGateway, Upstream } from '@latchkey/x402/gateway'
import { type Chain, type ClaimStore, Gate } from '@latchkey/x402/server'
import { explainListenError } from '../listenErrors.js'
import type { GatewaySettings } from './settings.js'

export type GatewayParts = {
  readonly chain: Chain
  /** The claims of all settings: a payment for the old routes is not accepted again by the new ones. */
  readonly claims: ClaimStore
  readonly onError: (error: unknown) => void
  readonly onWarning: (text: string) => void
}

type Opened = { readonly gate: Gate; readonly upstream: Upstream; readonly gateway: Gateway }

/** Slow and idle clients hold a connection for no longer. */
const headersTimeoutMs = 30_000
const requestTimeoutMs = 300_000
const maxHeaderBytes = 64 * 1024
const maxConnections = 10_000

export class RunningGateway {
  readonly #parts: GatewayParts
  readonly #server: Server
  #opened: Opened
  #url = ''
  readonly stopped: Promise<void>

  private constructor(parts: GatewayParts, opened: Opened) {
    this.#parts = parts
    this.#opened = opened
    const options = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
    }
    this.#server = createServer(options, (request, response) => void this.#opened.gateway.request(request, response))
    this.#server.maxConnections = maxConnections
    this.#server.on('upgrade', (request, socket, head) => void this.#opened.gateway.upgrade(request, socket, head))
    this.stopped = new Promise((resolve) => this.#server.once('close', resolve))
  }

  /** @throws GateError, OptionsError and RouteError for settings that cannot be used */
  static async start(
    parts: GatewayParts,
    settings: GatewaySettings,
    { host, port }: { readonly host: string; readonly port: number },
  ): Promise<RunningGateway> {
    const running = new RunningGateway(parts, await open(parts, settings))
    await new Promise<void>((resolve, reject) => {
      running.#server.once('error', (error) => reject(explainListenError(error, { host, port })))
      running.#server.listen(port, host, resolve)
    })
    const address = running.#server.address()
    const bound = typeof address === 'object' && address !== null ? address.port : port
    running.#url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
    return running
  }

  get url(): string {
    return this.#url
  }

  /** Replaces the settings. Requests that have begun end with the old ones. */
  async reload(settings: GatewaySettings): Promise<void> {
    const before = this.#opened
    this.#opened = await open(this.#parts, settings)
    await before.gate.close()
    before.upstream.close()
  }

  /** Accepts no more requests, and waits for those that have begun. */
  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeIdleConnections()
    await this.stopped
    await this.#opened.gate.close()
    this.#opened.upstream.close()
  }
}

async function open({ chain, claims, onError, onWarning }: GatewayParts, settings: GatewaySettings): Promise<Opened> {
  const { upstream: url, facilitator, free, headers, timeoutMs, perPayer, ...options } = settings
  const upstream = new Upstream({ url, headers, timeoutMs })
  const gate = await Gate.open({ ...options, chains: chain, facilitators: facilitator, claims, onError, onWarning })
  return { gate, upstream, gateway: openGateway({ gate, upstream, free, perPayer, onError }) }
}
