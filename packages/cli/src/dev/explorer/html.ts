/** HTML from templates. Every value is escaped, because names and notes on a ledger come from anyone. */
import { VisibleText } from '@latchkey/algorand'

/** Text that is already HTML. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | readonly Html[] | string | number | bigint

/** A template whose values are escaped unless they are HTML themselves. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.map((part, index) => part + (index < values.length ? textOf(values[index]!) : '')).join(''))
}

function textOf(value: Value): string {
  if (value instanceof Html) return value.text
  return Array.isArray(value) ? value.map(textOf).join('') : escaped(String(value))
}

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return VisibleText.replaceHidden(text).replace(/[&<>"']/g, (character) => entities[character]!)
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:0 1rem 3rem;overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:1rem;padding:1rem 0;border-bottom:1px solid}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;vertical-align:top;border-bottom:1px solid #8884}code{font-size:.9em}`

/** No script runs, and nothing is loaded. */
export const policy = `default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** A page of the explorer. */
export function page(title: string, content: readonly Html[]): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title} - local chain</title>
<style>${new Html(style)}</style>
<nav><a href="/">Blocks</a><a href="/transactions">Transactions</a><a href="/accounts">Accounts</a><a href="/assets">Assets</a><a href="/applications">Applications</a>
<form action="/search"><label>Find <input name="q" placeholder="round, id or address" size="30"></label></form></nav>
<h1>${title}</h1>
${content}
</html>
`.text
}

/** A table with a header row. */
export function table(headers: readonly string[], rows: readonly (readonly (Html | string)[])[]): Html {
  if (rows.length === 0) return html`<p>None yet.</p>`
  const cells = (row: readonly (Html | string)[]): Html[] => row.map((cell) => html`<td>${cell}</td>`)
  return html`<table><thead><tr>${headers.map((one) => html`<th scope="col">${one}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>`)}</tbody></table>`
}
