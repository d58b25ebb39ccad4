/** A running gateway: its server, and the settings that SIGHUP replaces. */
import { type Gateway, openGateway, Upstream } from '@latchkey/x402/gateway'
import { type Chain, type ClaimStore, Gate } from '@latchkey/x402/server'
import { explainListenError } from '../listenErrors.js'
import { bufferCollector } from './bufferCollector.js'
import { createGatewayServer, type GatewayServer, minIdleTimeoutMs } from './server.js'
import type { GatewaySettings } from './settings.js'

export type GatewayParts = {
  readonly chain: Chain
  /** The claims of all settings: a payment for the old routes is not accepted again by the new ones. */
  readonly claims: ClaimStore
  readonly onError: (error: unknown) => void
  readonly onWarning: (text: string) => void
}

/** For the whole process, because bodies of old and new settings are garbage of one heap. */
const onBytes = bufferCollector()

type Opened = { readonly gate: Gate; readonly upstream: Upstream; readonly gateway: Gateway }

export class RunningGateway {
  readonly #parts: GatewayParts
  readonly #server: GatewayServer
  #opened: Opened
  #url = ''
  #reloading: Promise<unknown> = Promise.resolve()
  readonly stopped: Promise<void>

  private constructor(parts: GatewayParts, opened: Opened, settings: GatewaySettings) {
    this.#parts = parts
    this.#opened = opened
    this.#server = createGatewayServer(() => this.#opened.gateway, settings.tls)
    this.#server.setIdleTimeout(idleTimeoutMs(settings))
    this.stopped = new Promise((resolve) => this.#server.net.once('close', resolve))
  }

  /**
   * @throws GateError, OptionsError and RouteError for settings that cannot be used
   * @throws CommandError if the certificate cannot be used
   */
  static async start(
    parts: GatewayParts,
    settings: GatewaySettings,
    { host, port }: { readonly host: string; readonly port: number },
  ): Promise<RunningGateway> {
    const running = new RunningGateway(parts, await open(parts, settings), settings)
    const { net } = running.#server
    await new Promise<void>((resolve, reject) => {
      net.once('error', (error) => reject(explainListenError(error, { host, port })))
      net.listen(port, host, resolve)
    })
    const address = net.address()
    const bound = typeof address === 'object' && address !== null ? address.port : port
    const scheme = settings.tls === undefined ? 'http' : 'https'
    running.#url = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}`
    return running
  }

  get url(): string {
    return this.#url
  }

  /**
   * Replaces the settings and the certificate. Requests that have begun end with the old ones. Reloads run in the order of
   * their calls, each with settings that are read when it begins, so that the last one stays.
   */
  reload(read: () => GatewaySettings): Promise<void> {
    const reloading = this.#reloading.then(() => this.#reload(read()))
    this.#reloading = reloading.catch(() => {})
    return reloading
  }

  async #reload(settings: GatewaySettings): Promise<void> {
    const opened = await open(this.#parts, settings)
    try {
      this.#server.reload(settings.tls)
    } catch (error) {
      await close(opened)
      throw error
    }
    const before = this.#opened
    this.#opened = opened
    this.#server.setIdleTimeout(idleTimeoutMs(settings))
    await close(before)
  }

  /** Accepts no more requests, and waits for those that have begun. */
  async stop(): Promise<void> {
    this.#server.close()
    await this.stopped
    await close(this.#opened)
  }
}

/** Longer than the service may be silent, which has its own response. */
function idleTimeoutMs({ timeoutMs = 0 }: GatewaySettings): number {
  return Math.max(minIdleTimeoutMs, timeoutMs + 60_000)
}

async function close({ gate, upstream }: Opened): Promise<void> {
  await gate.close()
  upstream.close()
}

async function open({ chain, claims, onError, onWarning }: GatewayParts, settings: GatewaySettings): Promise<Opened> {
  const { upstream: url, headers, passHeaders, methodInBody, timeoutMs, ...others } = settings
  const { facilitator, free, perPayer, tls: _, ...options } = others
  const upstream = new Upstream({ url, headers, passHeaders, methodInBody, timeoutMs, onBytes })
  const gate = await Gate.open({ ...options, chains: chain, facilitators: facilitator, claims, onError, onWarning })
  return { gate, upstream, gateway: openGateway({ gate, upstream, free, perPayer, onError }) }
}
