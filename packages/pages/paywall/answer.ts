/** Shows what was paid for: as text, as a picture, as a page that can do nothing, or as a file to save. */
import { address } from './data.js'
import { h } from './dom.js'

/** More than this is not put on the page, but saved. */
const maxShownBytes = 1024 * 1024
const textTypes = /^(text\/|application\/([\w.+-]+\+)?(json|xml|yaml|javascript)\b)/i

export type Shown = { readonly element: HTMLElement; readonly save: HTMLAnchorElement | undefined }

export async function shownAnswer(response: Response): Promise<Shown> {
  if (response.type === 'opaqueredirect') {
    const text = 'The seller answers with another address, to which this page does not carry a payment.'
    return { element: h('p', { class: 'note' }, text), save: undefined }
  }
  const type = response.headers.get('content-type') ?? ''
  const blob = await response.blob()
  if (blob.size === 0) return { element: h('p', { class: 'note' }, 'The answer is empty.'), save: undefined }
  const url = URL.createObjectURL(new Blob([blob], { type: type.split(';')[0]! }))
  const save = h('a', { href: url, download: fileName(response, type) }, 'Save')
  return { element: await elementOf(type, blob, url), save }
}

async function elementOf(type: string, blob: Blob, url: string): Promise<HTMLElement> {
  if (/^image\//i.test(type)) return h('img', { src: url, alt: 'The picture you paid for' })
  if (!textTypes.test(type)) return h('p', { class: 'note' }, `A file of ${sizeText(blob.size)}: save it to open it.`)
  if (blob.size > maxShownBytes)
    return h('p', { class: 'note' }, `A text of ${sizeText(blob.size)}: save it to read it.`)
  const text = await textOf(blob, type)
  if (/^text\/html\b/i.test(type)) {
    // No scripts, no forms, no origin: what it says, and nothing that it does.
    return h('iframe', { sandbox: '', srcdoc: text, title: 'What you paid for' })
  }
  return h('pre', { tabindex: '0' }, /json/i.test(type) ? pretty(text) : text)
}

async function textOf(blob: Blob, type: string): Promise<string> {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w-]+)/i.exec(type) ?? []
  const bytes = await blob.arrayBuffer()
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Laid out anew, unless a number in it has more digits than JavaScript keeps. */
function pretty(text: string): string {
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/[0-9][0-9.]*/g) ?? []
  if (numbers.some((digits) => digits.length > 15)) return text
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

function fileName(response: Response, type: string): string {
  const [, given] = /filename="?([^";]+)/i.exec(response.headers.get('content-disposition') ?? '') ?? []
  const last = decodeURIComponent(new URL(address).pathname.split('/').filter(Boolean).at(-1) ?? 'answer')
  const name = (given ?? last).replace(/[^\p{L}\p{N}._ -]/gu, '_').slice(0, 100)
  const [, ending] =
    /^(?:text|image|application)\/(?:[\w.-]+\+)?(json|html|csv|png|jpeg|gif|webp|pdf|xml|zip)\b/i.exec(type) ?? []
  return ending === undefined || name.includes('.') ? name : `${name}.${ending.toLowerCase()}`
}

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
