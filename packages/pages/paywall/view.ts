/** Renders each step on the card, without making decisions. */
import { Amount } from '@latchkey/algorand'
import { button, h, slot } from './dom.js'
import type { Message } from './messages.js'
import { formatPrice, type Offer, shortAddress, type WalletOption } from './pageData.js'

const steps = ['Connect', 'Sign', 'Settle', 'Done'] as const
export type Step = (typeof steps)[number]

/** Replaces the available actions. Help with choosing a wallet belongs to that step only. */
export function showActions(...children: (Node | string)[]): void {
  slot('pay').replaceChildren(...children)
  showHelp(undefined)
}

const helpElements = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('[data-help]')]

/** Shows how to pay without a wallet, for the offer with this index. */
export function showHelp(offerIndex: number | undefined): void {
  for (const element of helpElements()) element.hidden = element.dataset['help'] !== String(offerIndex)
}

/** Adds buttons that copy the commands. */
export function enableHelp(): void {
  for (const pre of document.querySelectorAll<HTMLElement>('[data-help] pre')) {
    const copy = button('Copy', 'plain', async () => {
      await navigator.clipboard.writeText(pre.innerText).then(
        () => {
          copy.textContent = 'Copied'
        },
        () => getSelection()?.selectAllChildren(pre),
      )
    })
    // Browsers only provide a clipboard to pages on https and on this machine.
    if (navigator.clipboard !== undefined) pre.after(copy)
  }
}

/** Renders the same markup as the server. */
export function walletButton({ wallet, label }: WalletOption, isOnly: boolean, onClick: () => unknown): HTMLElement {
  const element = button(label, isOnly ? 'main' : 'plain', onClick)
  element.classList.add('wallet')
  element.prepend(h('span', { class: 'logo', 'data-wallet': wallet }))
  return element
}

export function stepList(current: Step): HTMLElement {
  const currentIndex = steps.indexOf(current)
  const items = steps.map((name, index) => {
    const state = index < currentIndex || current === 'Done' ? 'past' : index === currentIndex ? 'now' : 'next'
    return h('li', { class: state, ...(state === 'now' ? { 'aria-current': 'step' } : {}) }, name)
  })
  return h('ol', { class: 'steps' }, ...items)
}

/** Shows the current progress, and announces it to screen readers. */
export function showProgress(step: Step, text: string): void {
  showActions(stepList(step), h('p', { class: 'wait' }, text))
  slot('status').replaceChildren(h('span', { class: 'visually-hidden' }, text))
}

export function clearMessage(): void {
  slot('status').replaceChildren()
}

export function showMessage({ title, text, canReload }: Message, kind: 'bad' | 'good' | 'open' = 'bad'): void {
  // A signed payment is kept in the tab, so a reload loses nothing.
  const reload = canReload === true ? [button('Reload the page', 'plain', () => location.reload())] : []
  const children = [h('strong', {}, title), h('p', {}, ...formatIds(text)), ...reload]
  slot('status').replaceChildren(h('div', { class: kind }, ...children))
}

/** A command at the end of a message. */
const commandPattern = /\blatchkey [a-z-]+ .*?(?=\.?$)/s

/**
 * Shortens addresses, which people recognize, and keeps transaction ids, which they look up, and commands, which they
 * copy.
 */
function formatIds(text: string): (Node | string)[] {
  const [command] = commandPattern.exec(text) ?? []
  if (command === undefined) return formatPlain(text)
  const at = text.indexOf(command)
  return [...formatPlain(text.slice(0, at)), h('code', {}, command), text.slice(at + command.length)]
}

function formatPlain(text: string): (Node | string)[] {
  return text.split(/\b([A-Z2-7]{58}|[A-Z2-7]{52})\b/).map((part, index) => {
    if (index % 2 === 0) return part
    return part.length === 58 ? h('code', { title: part }, shortAddress(part)) : h('code', {}, part)
  })
}

export function showOffer(offer: Offer): void {
  const { amount, unit, network, payTo, isFeePaid, isUpTo } = offer
  slot('price').textContent = formatPrice(offer)
  slot('terms').textContent =
    offer.dollars === undefined
      ? `on ${network.name}`
      : `${isUpTo ? 'up to ' : ''}${Amount.group(amount)} ${unit} on ${network.name}`
  slot('money').textContent = network.isReal ? 'Real money' : 'Test money'
  slot('money').classList.toggle('real', network.isReal)
  slot('payee').textContent = payTo
  slot('fee').textContent = isFeePaid ? 'paid for you' : 'a small fee in ALGO'
}

export type ReceiptRows = readonly (readonly [string, string])[]

export function receiptList(rows: ReceiptRows): HTMLElement {
  const items = rows.map(([name, value]) =>
    h('div', {}, h('dt', {}, name), h('dd', name === 'Transaction' ? { class: 'id' } : {}, value)),
  )
  return h('dl', { class: 'facts receipt', 'data-receipt': '' }, ...items)
}
