/** Renders each step on the card. Makes no decisions. */
import { h, slot } from './dom.js'
import type { Message } from './messages.js'
import { formatPrice, type Offer, shortAddress } from './pageData.js'

const steps = ['Connect', 'Sign', 'Settle', 'Done'] as const
export type Step = (typeof steps)[number]

/** Replaces the actions that the person can take. */
export function showActions(...children: (Node | string)[]): void {
  slot('pay').replaceChildren(...children)
}

export function stepList(current: Step): HTMLElement {
  const currentIndex = steps.indexOf(current)
  const items = steps.map((name, index) => {
    const state = index < currentIndex || current === 'Done' ? 'past' : index === currentIndex ? 'now' : 'next'
    return h('li', { class: state, ...(state === 'now' ? { 'aria-current': 'step' } : {}) }, name)
  })
  return h('ol', { class: 'steps' }, ...items)
}

/** Shows what the page waits for, and announces it to screen readers. */
export function showProgress(step: Step, text: string): void {
  showActions(stepList(step), h('p', { class: 'wait' }, text))
  slot('status').replaceChildren(h('span', { class: 'visually-hidden' }, text))
}

export function clearMessage(): void {
  slot('status').replaceChildren()
}

export function showMessage({ title, text }: Message, kind: 'bad' | 'good' | 'open' = 'bad'): void {
  slot('status').replaceChildren(h('div', { class: kind }, h('strong', {}, title), h('p', {}, ...formatIds(text))))
}

/** Shortens addresses, which people recognize, and keeps transaction ids, which they look up. */
function formatIds(text: string): (Node | string)[] {
  return text.split(/\b([A-Z2-7]{58}|[A-Z2-7]{52})\b/).map((part, index) => {
    if (index % 2 === 0) return part
    return part.length === 58 ? h('code', { title: part }, shortAddress(part)) : h('code', {}, part)
  })
}

export function showOffer(offer: Offer): void {
  const { amount, unit, network, payTo, isFeePaid } = offer
  slot('price').textContent = formatPrice(offer)
  slot('terms').textContent =
    offer.dollars === undefined ? `on ${network.name}` : `${amount} ${unit} on ${network.name}`
  slot('money').textContent = network.isReal ? 'Real money' : 'Test money'
  slot('money').classList.toggle('real', network.isReal)
  slot('payee').textContent = shortAddress(payTo)
  slot('payee').title = payTo
  slot('fee').textContent = isFeePaid ? 'paid for you' : 'a small fee in ALGO'
}

export type ReceiptRows = readonly (readonly [string, string])[]

export function receiptList(rows: ReceiptRows): HTMLElement {
  const items = rows.map(([name, value]) =>
    h('div', {}, h('dt', {}, name), h('dd', name === 'Transaction' ? { class: 'id' } : {}, value)),
  )
  return h('dl', { class: 'facts receipt', 'data-receipt': '' }, ...items)
}
