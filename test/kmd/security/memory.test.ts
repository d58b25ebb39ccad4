/** KM: passwords and keys do not stay in the daemon's memory after the operation that needed them. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { dial, type Kmd, start, statusesOf } from '../../process/commands.test.helper.js'
import { occurrences } from './memory.test.helper.js'

const wires = ['reference', 'documented'] as const
type Wire = (typeof wires)[number]
const onlyLinux = { skip: process.platform !== 'linux' }

/** Returns a text that occurs nowhere else. */
const marker = (): string => `marker-${randomBytes(16).toString('hex')}`
/** Returns the key in its sent and stored forms. */
const forms = (name: string, key: Buffer): { [name: string]: Buffer } => ({
  [name]: key,
  [`${name} in base64`]: Buffer.from(key.toString('base64').slice(0, 42)),
  [`${name} as integers`]: Buffer.from([...key].join(',')),
})
const encode = (wire: Wire, key: Buffer): string | number[] =>
  wire === 'reference' ? key.toString('base64') : [...key]
const decode = (key: string | number[]): Buffer =>
  typeof key === 'string' ? Buffer.from(key, 'base64') : Buffer.from(key)

/** Collects the secrets that are in memory after each operation. */
function watch(kmd: Kmd) {
  const needles: { [name: string]: Buffer } = {}
  const left: string[] = []
  const look = async (operation: string): Promise<void> => {
    await kmd.wallets()
    // The API token is a string that stays, so the search must find it.
    assert.ok(occurrences(kmd.pid, { token: Buffer.from(kmd.token) })['token'], 'nothing is found')
    for (const [name, count] of Object.entries(occurrences(kmd.pid, needles)))
      left.push(`${operation}: ${name}, ${count}`)
  }
  return { needles, left, look }
}

for (const wire of wires) {
  test(`secrets on the ${wire} wire are wiped`, onlyLinux, async (t) => {
    const kmd = await start(t, { settings: { wire } })
    const { needles, left, look } = watch(kmd)
    const [password, next, wrong] = [marker(), marker(), marker()]
    const masterKey = randomBytes(32)
    const imported = randomBytes(32)
    Object.assign(needles, {
      password: Buffer.from(password),
      'new password': Buffer.from(next),
      'wrong password': Buffer.from(wrong),
      ...forms('master derivation key', masterKey),
      ...forms('imported key', imported),
    })
    const id = await kmd.create('w', password, { master_derivation_key: encode(wire, masterKey) })
    await look('create')
    assert.equal((await kmd.tryUnlock(id, wrong)).status, 401)
    await look('a wrong password')
    const open = { wallet_handle_token: await kmd.unlock(id, password), wallet_password: password }
    const release = async (): Promise<unknown> =>
      kmd.ok('POST', '/v1/wallet/release', { wallet_handle_token: open.wallet_handle_token })
    const { address } = await kmd.ok('POST', '/v1/key/import', {
      wallet_handle_token: open.wallet_handle_token,
      private_key: encode(wire, imported),
    })
    await kmd.ok('POST', '/v1/program/sign', { ...open, address, data: 'AQ==' })
    await release()
    await look('unlock, import, sign')
    open.wallet_handle_token = await kmd.unlock(id, password)
    await kmd.ok('POST', '/v1/key/export', { ...open, address })
    await release()
    await look('export a key')
    open.wallet_handle_token = await kmd.unlock(id, password)
    await kmd.ok('POST', '/v1/master-key/export', open)
    await release()
    await look('export the master derivation key')
    open.wallet_handle_token = await kmd.unlock(id, password)
    const generated = await kmd.generate(open.wallet_handle_token)
    const exported = await kmd.ok('POST', '/v1/key/export', { ...open, address: generated })
    Object.assign(needles, forms('generated key', decode(exported.private_key).subarray(0, 32)))
    await kmd.ok('POST', '/v1/program/sign', { ...open, address: generated, data: 'AQ==' })
    await release()
    await look('generate a key, export it')
    const byId = { wallet_id: id, wallet_password: password }
    await signAsAgent(kmd, byId, address)
    await look('sign as an agent')
    await kmd.ok('POST', '/v1/wallet/rename', { ...byId, wallet_name: 'x' })
    await look('rename')
    await kmd.ok('POST', '/latchkey/v1/wallet/password', { ...byId, new_wallet_password: next })
    await look('change the password')
    assert.deepEqual(left, [])
  })
}

const genesisHash = Buffer.alloc(32, 7)

/** Grants the key to an agent, signs a payment with it, and deletes the agent. */
async function signAsAgent(kmd: Kmd, wallet: { wallet_id: string; wallet_password: string }, address: string) {
  const network = genesisHash.toString('base64')
  const limits = [{ per: 'day', network, type: 'amount', asset_id: '0', amount: '2000000' }]
  const rules = { networks: [network], limits, payees: { allow_all: true } }
  const { token } = await kmd.ok('POST', '/latchkey/v1/agents', { ...wallet, name: 'a', addresses: [address], rules })
  const transaction: Transaction.Transaction = {
    ...{ type: 'pay', snd: Address.decode(address), rcv: Buffer.alloc(32, 9), amt: 1n },
    ...{ fee: 1_000n, fv: 1n, lv: 1_000n, gh: genesisHash },
  }
  const body = { transaction: Buffer.from(Transaction.encode(transaction)).toString('base64') }
  await kmd.ok('POST', '/latchkey/v1/agent/sign', body, { token })
}

type Sent = { kmd: Kmd; secret: string; send: (...pieces: string[]) => Promise<number[]> }

/** Requests that carry a password in another way than a client's single write, or that are never served. */
const unusual: { [name: string]: (sent: Sent) => Promise<unknown> } = {
  'in two pieces': ({ kmd, secret, send }) => send(...halves(post(kmd, bodyWith(secret)), secret)),
  'in chunks': ({ kmd, secret, send }) => {
    const body = bodyWith(secret)
    const [before, after] = halves(body, secret) as [string, string]
    const chunks = [before, after].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    const head = post(kmd, '').replace('Content-Length: 0', 'Transfer-Encoding: chunked')
    return send(`${head}${chunks[0]}`, `${chunks[1]}0\r\n\r\n`)
  },
  'behind another request': ({ kmd, secret, send }) => {
    const [before, after] = halves(post(kmd, bodyWith(secret)), secret) as [string, string]
    return send(post(kmd, '{}').replace('close', 'keep-alive') + before, after)
  },
  'with a wrong token': ({ kmd, secret, send }) => send(post(kmd, bodyWith(secret), 'f'.repeat(64))),
  'to an unknown path': ({ kmd, secret, send }) => send(post(kmd, bodyWith(secret)).replace('/init', '/unknown')),
  'as a malformed body': ({ kmd, secret, send }) => send(post(kmd, `{"wallet_password":"${secret}"`)),
  'in a body that is too large': ({ kmd, secret, send }) =>
    send(post(kmd, bodyWith(secret)).replace(/Content-Length: \d+/, `Content-Length: ${2 ** 30}`)),
  'in a body that is broken off': async ({ kmd, secret, send }) => {
    await send(post(kmd, `${bodyWith(secret)}${' '.repeat(100)}`).slice(0, -50), '')
  },
}

const bodyWith = (secret: string): string => `{"wallet_id":"unknown","wallet_password":"${secret}"}`

function halves(text: string, secret: string): string[] {
  const middle = text.indexOf(secret) + secret.length
  return [text.slice(0, middle), text.slice(middle)]
}

function post(kmd: Kmd, body: string, token = kmd.token): string {
  const headers = `Host: ${kmd.address}\r\nX-KMD-API-Token: ${token}\r\nConnection: close\r\nContent-Length: ${body.length}`
  return `POST /v1/wallet/init HTTP/1.1\r\n${headers}\r\n\r\n${body}`
}

/** Sends pieces separately, and then ends the connection. Returns the statuses of the responses. */
async function sendPieces(t: TestContext, kmd: Kmd, pieces: string[]): Promise<number[]> {
  const { socket, received, closed } = await dial(t, kmd.port)
  socket.setNoDelay(true)
  for (const piece of pieces) {
    socket.write(piece, 'latin1')
    // The daemon has read the piece once it responds to a later request.
    await kmd.wallets()
  }
  socket.end()
  await closed
  return statusesOf(received())
}

test('a password is wiped however its request arrives, also if it is not served', onlyLinux, async (t) => {
  const kmd = await start(t)
  const { needles, left, look } = watch(kmd)
  for (const [name, run] of Object.entries(unusual)) {
    const secret = marker()
    needles[name] = Buffer.from(secret)
    const send = (...pieces: string[]): Promise<number[]> => sendPieces(t, kmd, pieces)
    await run({ kmd, secret, send })
    await look(name)
  }
  assert.deepEqual(left, [])
})
