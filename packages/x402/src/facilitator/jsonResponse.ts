const jsonHeaders = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

export function json(status: number, value: unknown, headers: { readonly [name: string]: string } = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...jsonHeaders, ...headers } })
}
