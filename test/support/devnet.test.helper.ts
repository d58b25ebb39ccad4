/** Runs `latchkey devnet` in a process, and creates payments for it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Address, Ed25519, Mnemonic, Submission, Transaction } from '@latchkey/algorand'
import { startHosted } from './commandHost.test.helper.js'
import { latchkeyCommand } from './latchkeyCommand.test.helper.js'
import './stateHome.test.helper.js'

export { latchkeyCommand }

export type DevnetFacts = {
  url: string
  indexerUrl?: string
  token: string | null
  genesisHash: string
  genesisId: string
  network: string
  dispenser: { address: string; mnemonic: string }
  accounts: { name: string; address: string; mnemonic: string; secretKey: string }[]
  environment: { [name: string]: string }
  pid: number
}

export type RunningDevnet = {
  facts: DevnetFacts
  child: Pick<ChildProcess, 'kill'>
  /** The exit code, or undefined after a signal. */
  exited: Promise<number | undefined>
  stderr: () => string
}

type Scope = { after: (work: () => unknown) => void }

export async function startDevnet(t: Scope, args: readonly string[] = []): Promise<RunningDevnet> {
  const child = spawn(process.execPath, [latchkeyCommand, ...devnetArgs, ...args])
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'close').then(([code]) => (code as number | null) ?? undefined)
  const output = new Output()
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.add('stdout', text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => output.add('stderr', text))
  return { facts: await output.facts(exited), child, exited, stderr: () => output.stderr }
}

/** Runs a devnet like `startDevnet`, in a process that ran others before; see `startHosted`. */
export async function startHostedDevnet(t: Scope, args: readonly string[] = []): Promise<RunningDevnet> {
  const output = new Output()
  const call = { command: 'latchkey', args: [...devnetArgs, ...args], env: process.env } as const
  const server = startHosted(call, (name, text) => output.add(name, text))
  t.after(() => server.end())
  const exited = server.ended.then((code) => (typeof code === 'number' ? code : undefined))
  const kill = (signal?: NodeJS.Signals | number): boolean => {
    server.kill(signal as NodeJS.Signals)
    return true
  }
  return { facts: await output.facts(exited), child: { kill }, exited, stderr: () => output.stderr }
}

const devnetArgs = ['devnet', '--port', '0', '--json'] as const

class Output {
  stdout = ''
  stderr = ''
  #onLine = (): void => {}

  add(name: 'stdout' | 'stderr', text: string): void {
    this[name] += text
    if (this.stdout.includes('\n')) this.#onLine()
  }

  async facts(exited: Promise<number | undefined>): Promise<DevnetFacts> {
    await new Promise<void>((resolve, reject) => {
      this.#onLine = resolve
      void exited.then((code) => reject(new Error(`the devnet ended with code ${code}: ${this.stderr}`)))
    })
    return JSON.parse(this.stdout) as DevnetFacts
  }
}

export type Payment = { from: string; to: string; microAlgos: bigint; round: bigint; note: string }

/** Returns a payment signed with the mnemonic of its sender. */
export function signPayment(facts: DevnetFacts, { from, to, microAlgos, round, note }: Payment): Uint8Array {
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(Mnemonic.decode(from))
  const txn: Transaction.Transaction = {
    type: 'pay',
    snd: publicKey,
    rcv: Address.decode(to),
    amt: microAlgos,
    fee: 1_000n,
    fv: round === 0n ? undefined : round,
    lv: round + 1_000n,
    gen: facts.genesisId,
    gh: new Uint8Array(Buffer.from(facts.genesisHash, 'base64')),
    note: new Uint8Array(Buffer.from(note)),
  }
  const sig = Ed25519.sign(Transaction.bytesToSign(Transaction.encode(txn)), secretKey)
  return Submission.encode({ sig, txn })
}

/** Returns the transaction id; throws with the text of an error response. */
export async function submit(url: string, signed: Uint8Array): Promise<string> {
  const response = await fetch(`${url}/v2/transactions`, { method: 'POST', body: Buffer.from(signed) })
  if (response.status !== 200) throw new Error(await response.text())
  return ((await response.json()) as { txId: string }).txId
}

export async function get(url: string): Promise<{ [name: string]: unknown }> {
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { [name: string]: unknown }
}
