/** What the page asks people in a dialog of its own. */
import { h } from './dom.js'
import { PaywallError } from './messages.js'

/** Throws a Trouble if the person closes it. */
export async function askPassword(wallets: readonly string[]): Promise<{ wallet: string; password: string }> {
  const [only] = wallets
  const password = h('input', { type: 'password', id: 'password', autocomplete: 'off' })
  const wallet = h('select', { id: 'wallet' }, ...wallets.map((name) => h('option', { value: name }, name)))
  const which =
    wallets.length === 1
      ? h('p', {}, 'Of the wallet “', h('bdi', {}, only!), '” in your local key daemon. Empty if it has none.')
      : h('p', {}, h('label', { for: 'wallet' }, 'Wallet'), wallet)
  const isGiven = await ask({
    title: 'Wallet password',
    body: [which, h('label', { for: 'password' }, 'Password'), password],
    yes: 'Unlock',
  })
  const answer = { wallet: wallets.length === 1 ? only! : wallet.value, password: password.value }
  password.value = ''
  if (!isGiven) throw new PaywallError('declined')
  return answer
}

export type Question = { readonly title: string; readonly body: readonly Node[]; readonly yes: string }

/** `false` if it is closed in whatever way. The rest of the page waits, and gets the focus back. */
export function ask({ title, body, yes }: Question): Promise<boolean> {
  const no = h('button', { type: 'button', class: 'plain' }, 'Cancel')
  const form = h(
    'form',
    {},
    h('h2', { id: 'dialog-title' }, title),
    ...body,
    h('div', { class: 'buttons' }, no, h('button', { type: 'submit', class: 'main' }, yes)),
  )
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  document.body.append(dialog)
  return new Promise((resolve) => {
    let isYes = false
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      isYes = true
      dialog.close()
    })
    no.addEventListener('click', () => dialog.close())
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(isYes)
    })
    dialog.showModal()
    form.querySelector('input')?.focus()
  })
}
