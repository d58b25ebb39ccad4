/** A local chain with the ids of TestNet, in the network of the terminals. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { atEnd, type Scope } from '../process/commands.test.helper.js'

const script = fileURLToPath(new URL('./testnet-process.test.helper.js', import.meta.url))

export type Testnet = {
  readonly url: string
  /** Pays test money, as a website does. Returns the dollars that the address holds then, in millionths. */
  readonly give: (address: string, money?: { microAlgos?: number; microDollars?: number }) => Promise<number>
}

export async function startTestnet(scope: Scope, inNetwork: readonly string[]): Promise<Testnet> {
  const [program, ...args] = [...inNetwork, process.execPath, script]
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  atEnd(scope, async () => {
    child.stdin.end()
    await closed
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async <T>(): Promise<T> => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the local chain has ended')
    return JSON.parse(value) as T
  }
  const { url } = await next<{ url: string }>()
  return {
    url,
    give: async (address, money = {}) => {
      child.stdin.write(`${JSON.stringify({ address, ...money })}\n`)
      return (await next<{ microDollars: number }>()).microDollars
    },
  }
}
