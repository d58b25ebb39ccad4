/** Idle connections of a `node:http` agent, used only while the server certainly keeps them open. */
import type { Agent, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** A request takes time to arrive, and the server's timer starts before the client's. */
const marginMs = 1_000
const announcement = /(?:^|[\s,;])timeout=([0-9]{1,9})(?:$|[\s,;])/i

/**
 * Keeps connections for a limited time, and for less if the server announces less (`Keep-Alive: timeout=5`), because a
 * request on a connection that the server is closing fails.
 */
export class KeptConnections {
  readonly agent: Agent
  readonly #idleMs: number
  readonly #keepFor = new WeakMap<Socket, number>()
  readonly #usableUntil = new WeakMap<Socket, number>()
  /** The connections in use at `close`, which end with their response. */
  readonly #ending = new WeakSet<Socket>()

  /** @param agent an agent with `keepAlive` that is used for nothing else */
  constructor(agent: Agent, idleMs: number) {
    this.agent = agent
    this.#idleMs = idleMs
    const keep = agent.keepSocketAlive.bind(agent) as (socket: Socket) => unknown
    // Called by the agent with each connection that would be kept.
    agent.keepSocketAlive = (socket: Socket) => this.#keep(socket) && keep(socket) !== false && this.#limit(socket)
  }

  /** Records how long the server keeps the connection of a response. */
  note({ headers, socket }: IncomingMessage): void {
    const announced = headers['keep-alive']
    const seconds = typeof announced === 'string' ? announcement.exec(announced)?.[1] : undefined
    if (seconds === undefined) return
    const announcedMs = Number(seconds) * 1000
    this.#keepFor.set(socket, Math.min(this.#idleMs, announcedMs - Math.min(marginMs, announcedMs / 2)))
  }

  /**
   * Closes expired connections. Call it before each request, because timers are late if the process was busy. The agent
   * takes the last connection of a list.
   */
  prune(now = performance.now()): void {
    const { freeSockets } = this.agent
    for (const name in freeSockets) {
      const list = freeSockets[name]!
      for (let last = list.at(-1); last !== undefined && !this.#isUsable(last, now); last = list.at(-1)) {
        list.pop()
        last.destroy()
      }
    }
  }

  /** Closes idle connections immediately, and the others after their response. */
  close(): void {
    for (const list of Object.values(this.agent.sockets)) for (const socket of list ?? []) this.#ending.add(socket)
    for (const list of Object.values(this.agent.freeSockets)) for (const socket of [...(list ?? [])]) socket.destroy()
  }

  #isUsable(socket: Socket, now: number): boolean {
    return !socket.destroyed && now < (this.#usableUntil.get(socket) ?? 0)
  }

  #keep(socket: Socket): boolean {
    return !this.#ending.has(socket) && (this.#keepFor.get(socket) ?? this.#idleMs) > 0
  }

  #limit(socket: Socket): true {
    const limitMs = this.#keepFor.get(socket) ?? this.#idleMs
    socket.setTimeout(limitMs)
    this.#usableUntil.set(socket, performance.now() + limitMs)
    return true
  }
}
