/**
 * Simulates a phone paired through WalletConnect 1, at the far end of the bridge: it reads the QR code, approves the
 * pairing and signs. Messages are encrypted as in the wallets' libraries: AES-CBC, then HMAC-SHA256 of ciphertext and
 * IV.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { WebSocketRoute } from 'playwright-core'
import type { Page } from './chromium.test.helper.js'

type Request = { id: number; method: string; params: unknown[] }
export type PhoneTransaction = { txn: string; signers?: string[] }

export type PhoneOptions = {
  /** The element of the wallet's dialog that contains the content of the QR code. */
  dialog: string
  name: string
  accounts: readonly string[]
  /** Returns the signed transactions in base64, with null for those that are not signed. */
  sign: (transactions: PhoneTransaction[]) => (string | null)[]
}

/** Answers for the phone on every connection of the page to a bridge. */
export async function pairPhone(page: Page, options: PhoneOptions): Promise<{ pairings: () => number }> {
  let pairings = 0
  let key: Buffer | undefined
  let sitePeer = ''
  await page.routeWebSocket(/^wss:/, (socket) => {
    socket.onMessage(async (message) => {
      const { type, payload } = JSON.parse(String(message)) as { type: string; payload: string }
      if (type !== 'pub' || payload === '') return
      const isPairing = key === undefined || sitePeer === ''
      if (isPairing) key = await keyInDialog(page, options.dialog)
      const request = decrypt(payload, key!)
      if (request === undefined) return
      if (request.method === 'wc_sessionRequest') {
        pairings++
        sitePeer = (request.params[0] as { peerId: string }).peerId
        const peerMeta = { name: options.name, description: '', url: 'https://wallet.example', icons: [] }
        const { accounts } = options
        respond(socket, request, { approved: true, chainId: 4160, networkId: 0, accounts, peerId: 'phone', peerMeta })
      } else if (request.method === 'algo_signTxn') {
        respond(socket, request, options.sign(request.params[0] as PhoneTransaction[]))
      }
    })
  })
  const respond = (socket: WebSocketRoute, { id }: Request, result: unknown): void => {
    const payload = encrypt({ id, jsonrpc: '2.0', result }, key!)
    socket.send(JSON.stringify({ topic: sitePeer, type: 'pub', payload, silent: true }))
  }
  return { pairings: () => pairings }
}

async function keyInDialog(page: Page, dialog: string): Promise<Buffer> {
  const element = page.locator(dialog)
  await element.waitFor({ state: 'attached' })
  const uri = (await element.getAttribute('uri'))!
  return Buffer.from(/[?&]key=([0-9a-f]{64})/.exec(uri)![1]!, 'hex')
}

function decrypt(payload: string, key: Buffer): Request | undefined {
  const { data, hmac, iv } = JSON.parse(payload) as { data: string; hmac: string; iv: string }
  const expected = createHmac('sha256', key)
    .update(Buffer.from(data + iv, 'hex'))
    .digest('hex')
  if (expected !== hmac) return undefined
  const decipher = createDecipheriv('aes-256-cbc', key, Buffer.from(iv, 'hex'))
  return JSON.parse(Buffer.concat([decipher.update(data, 'hex'), decipher.final()]).toString()) as Request
}

function encrypt(value: object, key: Buffer): string {
  const iv = randomBytes(16)
  const cipher = createCipheriv('aes-256-cbc', key, iv)
  const data = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
  const hmac = createHmac('sha256', key)
    .update(Buffer.concat([data, iv]))
    .digest('hex')
  return JSON.stringify({ data: data.toString('hex'), hmac, iv: iv.toString('hex') })
}
