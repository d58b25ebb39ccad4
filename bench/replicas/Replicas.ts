/** Runs several replicas on one store, each in its own process, all at the same time. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Database, Usage } from './Database.js'
import type { ReplicaOptions, ReplicaRequest } from './replica.js'

export type Work = {
  /** Per replica. */
  readonly count: number
  readonly at: number
  /** Fees that all replicas may spend together; undefined means no limit. */
  readonly budget?: string | undefined
}

export type Sample = {
  readonly perSecond: number
  /** Per settlement. */
  readonly replicaCpuMs: number
  readonly database: Usage | undefined
}

/** The limit for one measurement. A measurement takes seconds, but the machine may be busy. */
const limitMs = 180_000
const program = fileURLToPath(new URL('replica.js', import.meta.url))

export class Replicas {
  readonly name: string
  readonly #children: readonly ChildProcess[]
  readonly #database: Database | undefined

  private constructor(name: string, children: readonly ChildProcess[], database: Database | undefined) {
    this.name = name
    this.#children = children
    this.#database = database
  }

  static async start(name: string, count: number, options: ReplicaOptions, database?: Database): Promise<Replicas> {
    const children = Array.from({ length: count }, () => fork(program))
    process.on('exit', () => {
      for (const child of children) child.kill('SIGKILL')
    })
    const replicas = new Replicas(name, children, database)
    // Sequential, because each replica funds accounts on the same devnet.
    for (const child of children) await ask(child, { type: 'open', options })
    return replicas
  }

  /** Performs full settlements through the facilitators, on the devnet. */
  async settle({ count, at }: Work): Promise<Sample> {
    await this.#all({ type: 'prepare', count })
    return this.#measure(count, { type: 'settle', at })
  }

  /** Performs only the work of the stores for as many settlements. */
  record({ count, at, budget }: Work): Promise<Sample> {
    return this.#measure(count, { type: 'record', count, at, budget })
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGKILL')
  }

  async #measure(count: number, request: ReplicaRequest): Promise<Sample> {
    const settlements = count * this.#children.length
    const before = await this.#database?.usage()
    const startedMs = performance.now()
    const cpuMs = await this.#all(request)
    const seconds = (performance.now() - startedMs) / 1000
    const after = await this.#database?.usage()
    const each = (of: keyof Usage): number => (after![of] - before![of]) / settlements
    return {
      perSecond: settlements / seconds,
      replicaCpuMs: cpuMs.reduce((sum, ms) => sum + ms, 0) / settlements,
      database:
        before === undefined
          ? undefined
          : {
              calls: each('calls'),
              executionMs: each('executionMs'),
              walBytes: each('walBytes'),
              cpuMs: each('cpuMs'),
            },
    }
  }

  #all(request: ReplicaRequest): Promise<number[]> {
    return Promise.all(this.#children.map((child) => ask(child, request)))
  }
}

/** Rejects if the replica fails, exits or takes too long; the run then ends with the reason. */
function ask(child: ChildProcess, request: ReplicaRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`a replica did not answer "${request.type}" in time`)), limitMs)
    child.once('exit', () => reject(new Error('a replica ended')))
    child.once('message', ({ cpuMs, error }: { cpuMs?: number; error?: string }) => {
      clearTimeout(timer)
      child.removeAllListeners('exit')
      if (error === undefined) resolve(cpuMs!)
      else reject(new Error(error))
    })
    child.send(request)
  })
}
