/** Shows the paid content: as text, image or sandboxed page, or as a file to save. */
import { h } from './dom.js'
import { pageUrl } from './pageData.js'

/** Larger text is offered for download instead of shown. */
const maxShownBytes = 1024 * 1024
const textTypes = /^(text\/|application\/([\w.+-]+\+)?(json|xml|yaml|javascript)\b)/i

export type PaidContent = { readonly element: HTMLElement; readonly saveLink: HTMLAnchorElement | undefined }

export async function renderContent(response: Response): Promise<PaidContent> {
  if (response.type === 'opaqueredirect') {
    const text = 'The seller redirects to another address. This page does not send a payment there.'
    return { element: h('p', { class: 'note' }, text), saveLink: undefined }
  }
  const type = response.headers.get('content-type') ?? ''
  const blob = await response.blob()
  if (blob.size === 0) return { element: h('p', { class: 'note' }, 'The response is empty.'), saveLink: undefined }
  const url = URL.createObjectURL(new Blob([blob], { type: type.split(';')[0]! }))
  const saveLink = h('a', { href: url, download: fileName(response, type) }, 'Save')
  return { element: await elementFor(type, blob, url), saveLink }
}

async function elementFor(type: string, blob: Blob, url: string): Promise<HTMLElement> {
  if (/^image\//i.test(type)) return h('img', { src: url, alt: 'The image you paid for' })
  if (!textTypes.test(type)) return h('p', { class: 'note' }, `A file of ${formatSize(blob.size)}. Save it to open it.`)
  if (blob.size > maxShownBytes) {
    return h('p', { class: 'note' }, `A text of ${formatSize(blob.size)}. Save it to read it.`)
  }
  const text = await decodeText(blob, type)
  if (/^text\/html\b/i.test(type)) {
    // An empty sandbox attribute: no scripts, no forms, no access to this origin.
    return h('iframe', { sandbox: '', srcdoc: text, title: 'The page you paid for' })
  }
  return h('pre', { tabindex: '0' }, /json/i.test(type) ? formatJson(text) : text)
}

async function decodeText(blob: Blob, type: string): Promise<string> {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w-]+)/i.exec(type) ?? []
  const bytes = await blob.arrayBuffer()
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Indents JSON, unless it contains a number that JavaScript would round. */
function formatJson(text: string): string {
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
  const last = decodeURIComponent(new URL(pageUrl).pathname.split('/').filter(Boolean).at(-1) ?? 'response')
  const name = (given ?? last).replace(/[^\p{L}\p{N}._ -]/gu, '_').slice(0, 100)
  const [, extension] =
    /^(?:text|image|application)\/(?:[\w.-]+\+)?(json|html|csv|png|jpeg|gif|webp|pdf|xml|zip)\b/i.exec(type) ?? []
  return extension === undefined || name.includes('.') ? name : `${name}.${extension.toLowerCase()}`
}

function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
