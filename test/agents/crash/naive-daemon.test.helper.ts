/**
 * A typical signing service without durable limits: limits are checked against sums in memory, a payment is counted
 * after signing, and the sums are saved occasionally. Implements the part of the API that the crash test uses.
 *
 * node naive-daemon.test.helper.js FILE
 *
 * FILE contains the limits and the keys by token; FILE.sums contains the amounts spent.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Bytes, Ed25519, SignedTransaction, Transaction } from '@latchkey/algorand'

type Settings = { each: string; day: string; total: string; seeds: { [token: string]: string } }
type Sums = { [key: string]: { day: string; startedAtMs: number; total: string } }

const saveMs = 20
const dayMs = 86_400_000

const file = process.argv[2]!
const settings = JSON.parse(readFileSync(file, 'utf8')) as Settings
const sums: Sums = existsSync(`${file}.sums`) ? JSON.parse(readFileSync(`${file}.sums`, 'utf8')) : {}
setInterval(() => {
  writeFileSync(`${file}.new`, JSON.stringify(sums))
  renameSync(`${file}.new`, `${file}.sums`)
}, saveMs)

function sumOf(key: string): { day: bigint; total: bigint; startedAtMs: number } {
  const sum = sums[key] ?? { day: '0', total: '0', startedAtMs: Date.now() }
  const isOver = Date.now() - sum.startedAtMs >= dayMs
  return {
    day: isOver ? 0n : BigInt(sum.day),
    total: BigInt(sum.total),
    startedAtMs: isOver ? Date.now() : sum.startedAtMs,
  }
}

async function sign(token: string, bytes: Uint8Array): Promise<string | undefined> {
  const transaction = Transaction.decode(bytes)
  const amount = transaction.amt ?? transaction.aamt ?? 0n
  const key = `${token} ${transaction.xaid ?? 0n}`
  const { day, total } = sumOf(key)
  const isWithin = amount <= BigInt(settings.each) && day + amount <= BigInt(settings.day)
  if (!isWithin || total + amount > BigInt(settings.total)) return undefined
  // If the key is in a vault or on another machine, signing takes a turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
  const { secretKey } = Ed25519.keyPairFromSeed(Buffer.from(settings.seeds[token]!, 'hex'))
  const sig = Ed25519.sign(Transaction.bytesToSign(bytes), secretKey)
  const now = sumOf(key)
  sums[key] = { day: `${now.day + amount}`, total: `${now.total + amount}`, startedAtMs: now.startedAtMs }
  return Bytes.toBase64(SignedTransaction.encode({ sig, txn: transaction }))
}

const server = createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const body = JSON.parse(Buffer.concat(parts).toString()) as { transaction: string }
  const signed = await sign(String(request.headers['x-kmd-api-token']), Bytes.fromBase64(body.transaction)!)
  response.statusCode = signed === undefined ? 403 : 200
  response.end(JSON.stringify(signed === undefined ? { error: true } : { signed_transaction: signed }))
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
