/** Runs `latchkey devnet` in a process, and creates payments for it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Address, Ed25519, Mnemonic, Submission, Transaction } from '@latchkey/algorand'
import './stateHome.test.helper.js'

export const latchkeyCommand = fileURLToPath(new URL('../../../packages/cli/bin/latchkey.js', import.meta.url))

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
  child: ChildProcess
  /** The exit code, or undefined after a signal. */
  exited: Promise<number | undefined>
  stderr: () => string
}

type Scope = { after: (work: () => unknown) => void }

export async function startDevnet(t: Scope, args: readonly string[] = []): Promise<RunningDevnet> {
  const child = spawn(process.execPath, [latchkeyCommand, 'devnet', '--port', '0', '--json', ...args])
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'close').then(([code]) => (code as number | null) ?? undefined)
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.includes('\n')) resolve()
    })
    void exited.then((code) => reject(new Error(`the devnet ended with code ${code}: ${stderr}`)))
  })
  return { facts: JSON.parse(stdout) as DevnetFacts, child, exited, stderr: () => stderr }
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
