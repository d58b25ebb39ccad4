/** The written forms of a pass: a token authenticated by the seller's secret and bound to one of the buyer, and its cookie. */
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

/** The place that a pass cookie belongs to. */
export type CookiePlace = {
  /** The public URL of the request. */
  readonly url: URL
  /** The digest of the requests that the pass opens. */
  readonly scope: string
  /** Whether the pass opens all paths of a route instead of one path. */
  readonly isForRoute: boolean
}

/** Older cookies beyond this number are removed, because servers refuse requests with too many header bytes. */
const maxCookies = 10
/** Subdomains may set other cookies with the same name, even before the right one. */
const maxCandidates = 4
const maxHeaderLength = 32_768
const maxPathLength = 1_024
const anyName = /^(?:__Host-|__Secure-)?x402-pass-[A-Za-z0-9_-]{8}$/
/** The characters of a path that can be written into an attribute. */
const plainPath = /^\/[A-Za-z0-9_.~!$&'()*+:=@%/-]*$/

/** The values of a pass's cookies in a Cookie header. */
export function readCookies(cookies: string | null, place: CookiePlace): string[] {
  const name = nameOf(place)
  return pairsOf(cookies)
    .filter(([own]) => own === name)
    .slice(0, maxCandidates)
    .map(([, value]) => value)
}

/**
 * The Set-Cookie values that give a pass to a browser; none if the browser could not send it back. Apart from
 * navigations from elsewhere, only requests of the same origin carry the cookie. Scripts do not see it.
 */
export function setCookies(cookies: string | null, place: CookiePlace, value: string, maxAgeSeconds: number): string[] {
  const path = pathOf(place)
  if (path === undefined) return []
  const name = nameOf(place)
  const others = pairsOf(cookies).filter(([own]) => anyName.test(own) && own !== name)
  const excess = others.slice(0, Math.max(0, others.length + 1 - maxCookies))
  const removed = excess.map(
    ([own]) => `${own}=; ${attributes(own.startsWith('__Host-') ? '/' : path, own)}; Max-Age=0`,
  )
  return [`${name}=${value}; ${attributes(path, name)}; Max-Age=${maxAgeSeconds}`, ...removed]
}

/** A Cookie header without passes. Passes come and go, and neither a price nor a claim depends on them. */
export function withoutPasses(cookies: string | null): string | null {
  if (cookies === null || !cookies.includes('x402-pass-')) return cookies
  const others = cookies.split(';').filter((pair) => !anyName.test(pair.split('=')[0]!.trim()))
  return others.length === 0 ? null : others.map((pair) => pair.trim()).join('; ')
}

function pairsOf(cookies: string | null): [string, string][] {
  if (cookies === null || cookies.length > maxHeaderLength) return []
  return cookies.split(/[;,]/).flatMap((pair): [string, string][] => {
    const end = pair.indexOf('=')
    return end === -1 ? [] : [[pair.slice(0, end).trim(), pair.slice(end + 1).trim()]]
  })
}

/**
 * No subdomain can set a `__Host-` cookie, and it belongs to all paths. Used for routes, of which a seller has few.
 * Passes for single paths are sent only to those paths.
 */
function nameOf({ url, scope, isForRoute }: CookiePlace): string {
  const prefix = isForRoute ? '__Host-' : '__Secure-'
  return `${isPlainLoopback(url) ? '' : prefix}x402-pass-${scope.slice(0, 8)}`
}

function pathOf({ url, isForRoute }: CookiePlace): string | undefined {
  const path = isForRoute ? '/' : url.pathname
  return path.length <= maxPathLength && plainPath.test(path) ? path : undefined
}

function attributes(path: string, name: string): string {
  return `Path=${path}; HttpOnly; SameSite=Lax${name.startsWith('__') ? '; Secure' : ''}`
}

/** Not every browser keeps `Secure` cookies of a development server. */
function isPlainLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|.+\.localhost|127(\.[0-9]+){3}|\[::1\])$/.test(hostname)
}
