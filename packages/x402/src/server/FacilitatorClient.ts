/** Facilitators as a seller sees them: in this process, or over HTTP with a time limit. */
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../wire/types.js'

export type FacilitatorClient = {
  readonly name: string
  /** Its word that a payment is settled is enough; of others the ledger is asked. */
  readonly isTrusted?: boolean | undefined
  readonly verify: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<VerifyResponse>
  readonly settle: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<SettleResponse>
  readonly supported: () => Promise<SupportedResponse> | SupportedResponse
}

export type HttpFacilitatorOptions = {
  url: string
  apiKey?: string | undefined
  timeoutMs?: number | undefined
  /** For a facilitator of one's own: saves a question to the node with every payment. */
  isTrusted?: boolean | undefined
  fetch?: typeof fetch | undefined
}

const defaultTimeoutMs = 40_000
const supportedTimeoutMs = 5_000
const maxAnswerBytes = 256 * 1024

export function httpFacilitator(options: HttpFacilitatorOptions): FacilitatorClient {
  const { apiKey, timeoutMs = defaultTimeoutMs, isTrusted = false, fetch: ask = fetch } = options
  const url = baseUrl(options.url)
  const call = async (path: string, body: object | undefined, limitMs: number): Promise<JsonObject> => {
    const headers: { [name: string]: string } = { Accept: 'application/json' }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (apiKey !== undefined) headers['Authorization'] = `Bearer ${apiKey}`
    const nonsense = (what: string): FacilitatorError =>
      new FacilitatorError(`${url}${path} ${what}`, { isNonsense: true })
    try {
      const answer = await ask(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        // A payment, or the key, is not for whomever a redirect names.
        redirect: 'manual',
        signal: AbortSignal.timeout(limitMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (answer.type === 'opaqueredirect' || (answer.status >= 300 && answer.status < 400)) {
        await answer.body?.cancel()
        throw nonsense('sends us on to somebody else')
      }
      const text = await limitedText(answer)
      if (text === undefined) throw nonsense('answered too much')
      const value = parse(text)
      // Some say a business failure with an error status; it is an answer all the same.
      if (value !== undefined && (answer.ok || 'isValid' in value || 'success' in value)) return value
      if (answer.ok) throw nonsense('answered with something else than JSON')
      throw new FacilitatorError(`${url}${path} answered with status ${answer.status}`)
    } catch (error) {
      if (error instanceof FacilitatorError) throw error
      const cause = (error as Error).name === 'TimeoutError' ? `no answer within ${limitMs} ms` : causeOf(error)
      throw new FacilitatorError(`${url}${path}: ${cause}`, { cause: error })
    }
  }
  const question = (paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements): object => ({
    x402Version: 2,
    paymentPayload,
    paymentRequirements,
  })
  const expect = (holds: boolean, what: string): void => {
    if (!holds) throw new FacilitatorError(`${url}/${what}`, { isNonsense: true })
  }
  return {
    name: url,
    isTrusted,
    verify: async (payload, requirements) => {
      const answer = await call('/verify', question(payload, requirements), timeoutMs)
      expect(typeof answer['isValid'] === 'boolean', 'verify did not say whether it is valid')
      return answer as unknown as VerifyResponse
    },
    settle: async (payload, requirements) => {
      const answer = await call('/settle', question(payload, requirements), timeoutMs)
      expect(typeof answer['success'] === 'boolean', 'settle did not say whether it is settled')
      return answer as unknown as SettleResponse
    },
    supported: async () => {
      const answer = await call('/supported', undefined, supportedTimeoutMs)
      expect(Array.isArray(answer['kinds']), 'supported has no kinds')
      return answer as unknown as SupportedResponse
    },
  }
}

type JsonObject = { [name: string]: unknown }

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new FacilitatorError(`${text} is not the http address of a facilitator`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new FacilitatorError(
      `the address of the facilitator at ${url.host} has more than a path; give keys as apiKey`,
    )
  }
  return text.trim().replace(/\/+$/, '')
}

/** Undefined if it is longer than any answer: the rest is not read. */
async function limitedText(answer: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string } }
  return cause?.code ?? message
}

/** It did not answer, or not as the protocol has it: nothing is known about the payment. */
export class FacilitatorError extends Error {
  override name = 'FacilitatorError'
  /** It answered, but not as the protocol has it. */
  readonly isNonsense: boolean

  constructor(message: string, { cause, isNonsense = false }: { cause?: unknown; isNonsense?: boolean } = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.isNonsense = isNonsense
  }
}
