/** One line of a log, as text in the format of the Go daemon or as JSON. Any text stays on one line. */
import { VisibleText } from '@latchkey/algorand'

/** The severity of an event, least severe first. */
export const levels = ['debug', 'info', 'warning', 'error'] as const
/** The severity of a line. */
export type Level = (typeof levels)[number]

/** `text` is `key=value` for people; `json` is one object per line for collectors. */
export const formats = ['text', 'json'] as const
/** The format of lines: for people, or as JSON. */
export type Format = (typeof formats)[number]

/** The fields of a line besides time, level and message. */
export type Fields = { readonly [name: string]: string | number | boolean | undefined }

/** A finished request: a `RequestRecord` of `@latchkey/http`. */
export type RequestFields = {
  readonly id: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly bytes: number
  readonly isComplete: boolean
  /** The id of the payment of the request. */
  readonly payment?: string | undefined
  /** Identifies one of several servers that share a log. */
  readonly server?: string | undefined
}

/** Longer text from outside is truncated, because a line must not fill a disk. */
const longestText = 4_096

export function event(format: Format, level: Level, message: string, fields: Fields = {}): string {
  const time = timeText(format, Date.now())
  if (format === 'json') {
    const rest = entries(fields).map(([name, value]) => `,${quoted(name)}:${jsonValue(value)}`)
    return `{"time":"${time}","level":"${level}","msg":${quoted(message)}${rest.join('')}}\n`
  }
  const rest = entries(fields).map(([name, value]) => ` ${name}=${textValue(value)}`)
  return `time="${time}" level=${level} msg=${quoted(message)}${rest.join('')}\n`
}

/**
 * The line of a request. It is written thousands of times a second, so the parts that do not change between two
 * requests of a route are cached. Formatting them would cost as much as a twentieth of a signature.
 */
export function request(format: Format, level: Level, fields: RequestFields, atMs = Date.now()): string {
  const { id, bytes, isComplete } = fields
  const time = timeText(format, atMs)
  const middle = middleOf(format, level, fields)
  const duration = milliseconds(fields.durationMs)
  const isPlainEnd = isComplete && fields.server === undefined && fields.payment === undefined
  const end = isPlainEnd ? '' : endOf(format, fields)
  if (format === 'json') {
    return `{"time":"${time}${middle}${duration},"bytes":${bytes},"request_id":${jsonText(id)}${end}}\n`
  }
  return `time="${time}${middle}${duration} bytes=${bytes} request_id=${plainText(id)}${end}\n`
}

type Middle = {
  readonly format: Format
  readonly level: Level
  readonly method: string
  readonly status: number
  readonly text: string
}

/** The cached middle of the latest request, by route. */
const middles = new Map<string, Middle>()
/** Routes are patterns, and a server has few of them. */
const maxMiddles = 256

/** The part between the time and the duration. */
function middleOf(format: Format, level: Level, { method, route, status }: RequestFields): string {
  const known = middles.get(route)
  if (
    known !== undefined &&
    known.status === status &&
    known.method === method &&
    known.format === format &&
    known.level === level
  ) {
    return known.text
  }
  const text =
    format === 'json'
      ? `","level":"${level}","msg":"request","method":${jsonText(method)},"route":${jsonText(route)},"status":${status},"duration_ms":`
      : `" level=${level} msg=request method=${plainText(method)} route=${plainText(route)} status=${status} duration_ms=`
  if (known === undefined && middles.size >= maxMiddles) middles.clear()
  middles.set(route, { format, level, method, status, text })
  return text
}

function endOf(format: Format, { payment, server, isComplete }: RequestFields): string {
  const field = (name: string, value: string | undefined): string => {
    if (value === undefined) return ''
    return format === 'json' ? `,"${name}":${jsonText(value)}` : ` ${name}=${plainText(value)}`
  }
  const incomplete = format === 'json' ? ',"incomplete":true' : ' incomplete=true'
  return `${field('payment', payment)}${field('server', server)}${isComplete ? '' : incomplete}`
}

/** Formats three decimals with integers, which convert to text in a quarter of the time. */
function milliseconds(durationMs: number): string {
  const micros = Math.round(durationMs * 1000)
  const whole = Math.floor(micros / 1000)
  return `${whole}.${threeDigits(micros - whole * 1000)}`
}

function threeDigits(number: number): string {
  if (number >= 100) return `${number}`
  return number >= 10 ? `0${number}` : `00${number}`
}

/** Server errors are errors. Statuses that indicate an attack, a wrong setting or overload are warnings. */
export function levelOf({ status }: Pick<RequestFields, 'status'>): Level {
  if (status === 503 || status === 401 || status === 403 || status === 429) return 'warning'
  return status >= 500 ? 'error' : 'info'
}

const severities: { readonly [level in Level]: number } = { debug: 0, info: 1, warning: 2, error: 3 }

/** Whether a level is at or above `threshold`. */
export function isAtLeast(level: Level, threshold: Level): boolean {
  return severities[level] >= severities[threshold]
}

function entries(fields: Fields): [string, string | number | boolean][] {
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

const jsonValue = (value: string | number | boolean): string =>
  typeof value === 'string' ? quoted(value) : JSON.stringify(value)
const textValue = (value: string | number | boolean): string =>
  typeof value === 'string' ? plainText(value) : String(value)

const plain = /^[\w./:{}*@+-]+$/
const longestPlain = 256

const isPlain = (text: string): boolean => text.length <= longestPlain && plain.test(text)
const plainText = (text: string): string => (isPlain(text) ? text : quoted(text))
const jsonText = (text: string): string => (isPlain(text) ? `"${text}"` : quoted(text))

/** JSON escapes line breaks and ESC, but not the other terminal control characters, and people read logs with `cat`. */
function quoted(text: string): string {
  const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text
  return VisibleText.replaceHiddenOnScreen(JSON.stringify(short), (character) => {
    let escaped = ''
    for (let i = 0; i < character.length; i++) escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}

let nowMs = 0
let nowSecond = 0
let secondText = ''
let nowText = ''

/**
 * Computed once per millisecond, and up to the second once per second. The Go daemon writes microseconds and the zone.
 */
function timeText(format: Format, ms: number): string {
  if (ms !== nowMs) {
    const second = Math.floor(ms / 1000)
    if (second !== nowSecond) secondText = new Date(second * 1000).toISOString().slice(0, -'000Z'.length)
    nowMs = ms
    nowSecond = second
    nowText = secondText + threeDigits(ms - second * 1000)
  }
  return format === 'json' ? `${nowText}Z` : `${nowText}000 +0000`
}
