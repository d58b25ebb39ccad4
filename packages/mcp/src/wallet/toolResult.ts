/** Results of tools, for programs and for models, with text from sellers in separate blocks. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { explainError } from './explainError.js'
import { plainText, untrustedBlock } from './untrusted.js'

const maxUntrusted = 2_000

/** The key of `_meta` that holds the error of a failed call for programs. */
export const errorKey = 'latchkey/error'

/** Untrusted text and a description of it. */
export type Untrusted = { readonly what: string; readonly text: string }

export function result(
  structuredContent: { [name: string]: unknown },
  summary: string,
  untrusted: readonly Untrusted[] = [],
): CallToolResult {
  const blocks = untrusted.filter(({ text }) => text !== '').map(({ what, text }) => untrustedBlock(what, text))
  return { content: [{ type: 'text', text: summary }, ...blocks], structuredContent }
}

/** The result of a failed call: the code, what happened, and what to do next. */
export function errorResult(error: unknown): CallToolResult {
  const { code, message, next, details, untrusted = '' } = explainError(error)
  const known = { code, message: plainText(message, 500), next, ...details }
  const text = `${code}: ${known.message}.\nNext: ${next}`
  const block = untrustedBlock('Details, quoted from the seller', plainText(untrusted, maxUntrusted))
  return {
    isError: true,
    content: [{ type: 'text', text: `${text}${shown(details)}` }, ...(untrusted === '' ? [] : [block])],
    _meta: { [errorKey]: known },
  }
}

function shown(details: { readonly [name: string]: unknown }): string {
  const text = JSON.stringify(details)
  return text === '{}' ? '' : `\nDetails: ${text}`
}
