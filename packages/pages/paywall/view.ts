/** What is on the card at each step. It decides nothing. */
import { type Offer, priceText, shortAddress } from './data.js'
import { h, place } from './dom.js'
import type { Message } from './messages.js'

const steps = ['Connect', 'Sign', 'Settle', 'Done'] as const
export type Step = (typeof steps)[number]

/** Shows what there is to do now; the keyboard goes on from there. */
export function offerToDo(...children: (Node | string)[]): void {
  place('pay').replaceChildren(...children)
}

export function stepsAt(step: Step): HTMLElement {
  const at = steps.indexOf(step)
  const rows = steps.map((name, index) => {
    const state = index < at || step === 'Done' ? 'past' : index === at ? 'now' : 'next'
    return h('li', { class: state, ...(state === 'now' ? { 'aria-current': 'step' } : {}) }, name)
  })
  return h('ol', { class: 'steps' }, ...rows)
}

/** What is being waited for, told to those who do not see it as well. */
export function waiting(step: Step, text: string): void {
  offerToDo(stepsAt(step), h('p', { class: 'wait' }, text))
  place('status').replaceChildren(h('span', { class: 'unseen' }, text))
}

export function clearMessage(): void {
  place('status').replaceChildren()
}

export function showMessage({ title, text }: Message, kind: 'bad' | 'good' | 'open' = 'bad'): void {
  place('status').replaceChildren(h('div', { class: kind }, h('strong', {}, title), h('p', {}, ...withIds(text))))
}

/** Addresses shortened, since people know their own; ids of transactions whole, since they are looked up by them. */
function withIds(text: string): (Node | string)[] {
  return text.split(/\b([A-Z2-7]{58}|[A-Z2-7]{52})\b/).map((part, index) => {
    if (index % 2 === 0) return part
    return part.length === 58 ? h('code', { title: part }, shortAddress(part)) : h('code', {}, part)
  })
}

export function showOffer(offer: Offer): void {
  const { amount, unit, network, payTo, isFeePaid } = offer
  place('price').textContent = priceText(offer)
  place('terms').textContent =
    offer.dollars === undefined ? `on ${network.name}` : `${amount} ${unit} on ${network.name}`
  place('money').textContent = network.isReal ? 'Real money' : 'Test money'
  place('money').classList.toggle('real', network.isReal)
  place('payee').textContent = shortAddress(payTo)
  place('payee').title = payTo
  place('fee').textContent = isFeePaid ? 'paid for you' : 'a small fee in ALGO'
}

export type ReceiptRows = readonly (readonly [string, string])[]

export function receiptOf(rows: ReceiptRows): HTMLElement {
  const cells = rows.map(([name, value]) =>
    h('div', {}, h('dt', {}, name), h('dd', name === 'Transaction' ? { class: 'id' } : {}, value)),
  )
  return h('dl', { class: 'facts receipt', 'data-receipt': '' }, ...cells)
}
