/** One line of a log, as text in the form of the Go daemon or as JSON. Whatever a text holds, it stays one line. */

/** How severe an event is, least first. */
export const levels = ['debug', 'info', 'warning', 'error'] as const
export type Level = (typeof levels)[number]

/** `text` is `key=value`, for people; `json` is one object a line, for collectors. */
export const formats = ['text', 'json'] as const
export type Format = (typeof formats)[number]

/** What a line has besides time, level and message. */
export type Fields = { readonly [name: string]: string | number | boolean | undefined }

/** A request that is over: a `RequestRecord` of `@latchkey/http`. */
export type RequestFields = {
  readonly id: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly bytes: number
  readonly isComplete: boolean
  /** Which of several servers with one log. */
  readonly server?: string | undefined
}

/** A text from outside that is longer is cut off: a line must not fill a disk. */
const longestText = 4_096

export function event(format: Format, level: Level, message: string, fields: Fields = {}): string {
  const time = now(format)
  if (format === 'json') {
    const rest = entries(fields).map(([name, value]) => `,${quoted(name)}:${jsonValue(value)}`)
    return `{"time":"${time}","level":"${level}","msg":${quoted(message)}${rest.join('')}}\n`
  }
  const rest = entries(fields).map(([name, value]) => ` ${name}=${textValue(value)}`)
  return `time="${time}" level=${level} msg=${quoted(message)}${rest.join('')}\n`
}

/** The line of a request. It is written thousands of times a second, so nothing is looked up or copied for it. */
export function request(format: Format, level: Level, fields: RequestFields): string {
  const { id, method, route, status, bytes, isComplete, server } = fields
  const durationMs = Math.round(fields.durationMs * 1000) / 1000
  if (format === 'json') {
    return `{"time":"${now(format)}","level":"${level}","msg":"request","method":${jsonText(method)},"route":${jsonText(route)},"status":${status},"duration_ms":${durationMs},"bytes":${bytes},"request_id":${jsonText(id)}${server === undefined ? '' : `,"server":${jsonText(server)}`}${isComplete ? '' : ',"incomplete":true'}}\n`
  }
  return `time="${now(format)}" level=${level} msg=request method=${plainText(method)} route=${plainText(route)} status=${status} duration_ms=${durationMs} bytes=${bytes} request_id=${plainText(id)}${server === undefined ? '' : ` server=${plainText(server)}`}${isComplete ? '' : ' incomplete=true'}\n`
}

/** Errors of the server are errors; what shows an attack, a wrong setting or too much load is a warning. */
export function levelOf({ status }: Pick<RequestFields, 'status'>): Level {
  if (status === 503 || status === 401 || status === 403 || status === 429) return 'warning'
  return status >= 500 ? 'error' : 'info'
}

/** Whether a level counts where `threshold` is the least that does. */
export function isAtLeast(level: Level, threshold: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(threshold)
}

function entries(fields: Fields): [string, string | number | boolean][] {
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

const jsonValue = (value: string | number | boolean): string =>
  typeof value === 'string' ? quoted(value) : JSON.stringify(value)
const textValue = (value: string | number | boolean): string =>
  typeof value === 'string' ? plainText(value) : String(value)

const plain = /^[\w./:{}*@+-]{1,256}$/

const plainText = (text: string): string => (plain.test(text) ? text : quoted(text))
const jsonText = (text: string): string => (plain.test(text) ? `"${text}"` : quoted(text))

/** JSON escapes line breaks and ESC, but not the other characters that a terminal obeys: a log is read with `cat`. */
const unsafe = /(?!\p{VS})[\p{C}\p{Zl}\p{Zp}\p{DI}]/gu

function quoted(text: string): string {
  const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text
  return JSON.stringify(short).replace(unsafe, (character) => {
    let escaped = ''
    for (let i = 0; i < character.length; i++) escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}

let nowMs = 0
let nowText = ''

/** Made once a millisecond. The Go daemon writes microseconds and the zone. */
function now(format: Format): string {
  const ms = Date.now()
  if (ms !== nowMs) {
    nowMs = ms
    nowText = new Date(ms).toISOString()
  }
  return format === 'json' ? nowText : `${nowText.slice(0, -1)}000 +0000`
}
