const jsonHeaders = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
type Headers = { readonly [name: string]: string }
type TextResponse = (status: number, headers: readonly string[], text: string) => Response

/** @param textResponse creates the response if the host has a cheaper way */
export function json(status: number, value: unknown, headers: Headers = {}, textResponse?: TextResponse): Response {
  const text = JSON.stringify(value)
  const all = { ...jsonHeaders, ...headers }
  if (textResponse === undefined) return new Response(text, { status, headers: all })
  return textResponse(
    status,
    Object.entries(all).flatMap(([name, one]) => [name.toLowerCase(), one]),
    text,
  )
}
