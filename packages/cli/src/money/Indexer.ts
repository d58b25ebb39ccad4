/** An indexer, for transactions that are older than a node remembers. Only content that matches the id is accepted. */
import { Address, Bytes, Json, Network, Transaction } from '@latchkey/algorand'
import { CommandError, UsageError } from '../errors.js'

export type IndexedTransaction = {
  readonly round: bigint
  readonly time: Date | undefined
  /** Undefined for an unsupported type, or if the content from the indexer does not match the id. */
  readonly transaction: Transaction.Transaction | undefined
}

const timeoutMs = 10_000
const maxBytes = 1024 * 1024
const maxSeconds = 253_402_300_799n
const publicIndexers: { readonly [name: string]: string } = {
  mainnet: 'https://mainnet-idx.algonode.cloud',
  testnet: 'https://testnet-idx.algonode.cloud',
  betanet: 'https://betanet-idx.algonode.cloud',
}

/** The address of an indexer, and its token. */
export type Place = { readonly url: string; readonly token: string | undefined }

/**
 * Returns the given indexer, that of the environment, which belongs to its network, or a public one. Undefined if there
 * is none. The token of the environment is only sent to the indexer there.
 */
export function choose(
  given: string | undefined,
  caip2: string,
  environment: { readonly [name: string]: string | undefined },
  isOwnNetwork: boolean,
): Place | undefined {
  if (given !== undefined && !(URL.canParse(given) && /^https?:$/.test(new URL(given).protocol))) {
    throw new UsageError('--indexer must be an http or https URL', { code: 'invalid_value' })
  }
  const { INDEXER_URL: own = '', INDEXER_TOKEN: token } = environment
  const name = Network.known.find((network) => network.caip2 === caip2)?.name
  const url = given ?? (isOwnNetwork && own !== '' ? own : name === undefined ? undefined : publicIndexers[name])
  return url === undefined ? undefined : { url, token: url === own && token !== '' ? token : undefined }
}

/**
 * Returns undefined if the indexer does not have the transaction.
 *
 * @throws CommandError if it does not answer, or not like an indexer
 */
export async function lookUp({ url, token }: Place, id: string): Promise<IndexedTransaction | undefined> {
  const failure = (why: string, cause?: unknown): CommandError =>
    new CommandError('indexer_unavailable', `the indexer at ${url} ${why}`, { cause })
  let status: number
  let value: unknown
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/v2/transactions/${id}`, {
      headers: token === undefined ? {} : { 'X-Indexer-API-Token': token },
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    status = response.status
    value = Json.parse(await readBounded(response))
  } catch (cause) {
    throw failure('does not respond', cause)
  }
  if (status === 404) return undefined
  const found = Json.isObject(value) ? value['transaction'] : undefined
  if (status !== 200 || !Json.isObject(found)) throw failure(`responded with status ${status}`)
  const round = Json.uint64(found['confirmed-round'])
  if (round === undefined || found['id'] !== id) throw failure('returned a different transaction')
  const seconds = Json.uint64(found['round-time'])
  const time = seconds === undefined || seconds > maxSeconds ? undefined : new Date(Number(seconds) * 1000)
  return { round, time, transaction: decode(found, id) }
}

async function readBounded(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > maxBytes) throw new Error('the response is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Converts payments and asset transfers from the names of the indexer to those of the wire format. */
function decode(found: Json.Members, id: string): Transaction.Transaction | undefined {
  const inner = (name: string): Json.Members => {
    const value = found[name]
    return Json.isObject(value) ? value : {}
  }
  const common = {
    type: found['tx-type'] as string,
    snd: address(found['sender'])!,
    fee: Json.uint64(found['fee']),
    fv: Json.uint64(found['first-valid']),
    lv: Json.uint64(found['last-valid']),
    note: bytes(found['note']),
    gen: found['genesis-id'] as string,
    gh: bytes(found['genesis-hash']),
    grp: bytes(found['group']),
    lx: bytes(found['lease']),
    rekey: address(found['rekey-to']),
  }
  const pay = inner('payment-transaction')
  const transfer = inner('asset-transfer-transaction')
  const own =
    common.type === 'pay'
      ? { rcv: address(pay['receiver']), amt: Json.uint64(pay['amount']), close: address(pay['close-remainder-to']) }
      : {
          xaid: Json.uint64(transfer['asset-id']),
          aamt: Json.uint64(transfer['amount']),
          arcv: address(transfer['receiver']),
          asnd: address(transfer['sender']),
          aclose: address(transfer['close-to']),
        }
  try {
    const transaction: Transaction.Transaction = { ...common, ...own }
    return Transaction.id(transaction) === id ? transaction : undefined
  } catch {
    return undefined
  }
}

function address(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'string' || !Address.isValid(value)) return undefined
  const decoded = Address.decode(value)
  return decoded.every((byte) => byte === 0) ? undefined : decoded
}

function bytes(value: unknown): Uint8Array | undefined {
  return typeof value === 'string' ? Bytes.fromBase64(value) : undefined
}
