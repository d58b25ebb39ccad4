/** Results of tools: for programs and for models, with texts of sellers in blocks of their own. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { explainError } from './explainError.js'
import { plainText, untrustedBlock } from './untrusted.js'

const maxUntrusted = 2_000

/** The key of `_meta` under which a failed call has its error for programs. */
export const errorKey = 'latchkey/error'

/** A text of a stranger, and what it is. */
export type Untrusted = { readonly what: string; readonly text: string }

export function result(
  structuredContent: { [name: string]: unknown },
  summary: string,
  untrusted: readonly Untrusted[] = [],
): CallToolResult {
  const blocks = untrusted.filter(({ text }) => text !== '').map(({ what, text }) => untrustedBlock(what, text))
  return { content: [{ type: 'text', text: summary }, ...blocks], structuredContent }
}

/** What a failed call answers: the code, what happened, what to do next. */
export function errorResult(error: unknown): CallToolResult {
  const { code, message, next, details, untrusted = '' } = explainError(error)
  const known = { code, message: plainText(message, 500), next, ...details }
  const text = `${code}: ${known.message}.\nNext: ${next}`
  const block = untrustedBlock('Details, which quote the seller', plainText(untrusted, maxUntrusted))
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
