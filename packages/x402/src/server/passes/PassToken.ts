/** The written form of a pass: versioned, authenticated by the seller's secret, and bound to a secret of the buyer. */
import { Bytes, Hash } from '@latchkey/algorand'
import { maxPassLength } from '@latchkey/x402-wire'
import { OptionsError } from '../../errors.js'

/** The content of a pass. */
export type PassToken = {
  /** A digest of the requests that the pass opens. */
  readonly scope: string
  /** The SHA-256 hash of the secret that the holder presents, in base64url. */
  readonly holder: string
  /** Whether the pass is valid only in a cookie. Others are valid only in the header. */
  readonly isCookie: boolean
  readonly transactionId: string
  readonly payer: string
  readonly payTo: string
  /** The canonical CAIP-2 id. */
  readonly network: string
  readonly asset: string
  /** The amount in base units. */
  readonly amount: string
  /** The time of issue in milliseconds since 1970, in whole seconds. */
  readonly issuedMs: number
  readonly untilMs: number
  /** Whether the requests of the pass are counted in the store of passes. */
  readonly isCounted: boolean
}

const minSecretBytes = 32
const maxSecrets = 8
/** Separates domains: a secret that has another use as well does not produce the same MACs there. */
const domain = Bytes.fromUtf8('latchkey payment-pass 1')
const pattern = /^1\.([A-Za-z0-9_-]{1,1900})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/

/** Seals passes with the first of its keys, and opens passes of all keys. */
export class PassKeys {
  readonly #keys: readonly Uint8Array[]

  /**
   * @param secrets the secret that seals, and older ones that are still accepted
   * @throws OptionsError for a secret of less than 32 bytes
   */
  constructor(secrets: string | readonly string[] | undefined) {
    const list = secrets === undefined ? [Bytes.random(minSecretBytes)] : [secrets].flat().map(secretBytes)
    if (list.length === 0 || list.length > maxSecrets) {
      throw new OptionsError(`passes.secret has ${list.length} secrets`, `Pass one, or up to ${maxSecrets}.`)
    }
    this.#keys = list.map((secret) => Hash.hmacSha256(secret, domain))
  }

  /** Creates a pass, without the holder's secret. */
  seal(token: PassToken): string {
    const { scope, holder, transactionId, payer, payTo, network, asset, amount } = token
    const { isCookie, isCounted, issuedMs, untilMs } = token
    const texts = [scope, holder, transactionId, payer, payTo, network, asset, amount]
    const rest = [issuedMs / 1000, untilMs / 1000, isCookie ? 1 : 0, isCounted ? 1 : 0]
    const body = `1.${Bytes.toBase64Url(Bytes.fromUtf8(JSON.stringify([...texts, ...rest])))}`
    return `${body}.${Bytes.toBase64Url(Hash.hmacSha256(this.#keys[0]!, Bytes.fromUtf8(body)))}`
  }

  /**
   * Returns the content of a pass presented with the holder's secret; undefined if it is forged or belongs to another
   * holder.
   */
  open(shown: string): PassToken | undefined {
    if (shown.length > maxPassLength) return undefined
    const [, body, mac, secret] = pattern.exec(shown) ?? []
    if (body === undefined || mac === undefined || secret === undefined) return undefined
    const [given, proof] = [Bytes.fromBase64Url(mac), Bytes.fromBase64Url(secret)]
    if (given === undefined || proof === undefined) return undefined
    // The MAC covers the text as sent, so the covered content has no second spelling.
    const text = Bytes.fromUtf8(`1.${body}`)
    const isOurs = this.#keys.map((key) => Bytes.equalConstantTime(Hash.hmacSha256(key, text), given)).some(Boolean)
    if (!isOurs) return undefined
    const token = parse(body)
    const holder = Bytes.fromBase64Url(token.holder)
    const isHolder = holder !== undefined && Bytes.equalConstantTime(Hash.sha256(proof), holder)
    return isHolder ? token : undefined
  }
}

/** Parses only text that a key of this seller has sealed. */
function parse(body: string): PassToken {
  const [scope, holder, transactionId, payer, payTo, network, asset, amount, ...rest] = JSON.parse(
    Bytes.toUtf8(Bytes.fromBase64Url(body)!)!,
  ) as [string, string, string, string, string, string, string, string, number, number, number, number]
  const [issued, until, isCookie, isCounted] = rest
  return {
    scope,
    holder,
    isCookie: isCookie !== 0,
    transactionId,
    payer,
    payTo,
    network,
    asset,
    amount,
    issuedMs: issued * 1000,
    untilMs: until * 1000,
    isCounted: isCounted !== 0,
  }
}

function secretBytes(secret: unknown): Uint8Array {
  const bytes = typeof secret === 'string' ? Bytes.fromUtf8(secret) : new Uint8Array()
  if (bytes.length >= minSecretBytes) return new Uint8Array(bytes)
  const hint = 'Generate one: `openssl rand -base64 32`; check that its environment variable is set.'
  throw new OptionsError(`passes.secret has fewer than ${minSecretBytes} bytes`, hint)
}
