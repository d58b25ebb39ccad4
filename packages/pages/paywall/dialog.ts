/** Modal dialogs of the page. */
import { h } from './dom.js'
import { PaymentError } from './messages.js'

/**
 * Asks for a wallet and its password.
 *
 * Throws a PaymentError with the code `declined` if the person closes the dialog.
 */
export async function promptForPassword(wallets: readonly string[]): Promise<{ wallet: string; password: string }> {
  const [only] = wallets
  const password = h('input', { type: 'password', id: 'password', autocomplete: 'off' })
  const wallet = h('select', { id: 'wallet' }, ...wallets.map((name) => h('option', { value: name }, name)))
  const which =
    wallets.length === 1
      ? h('p', {}, 'For the wallet “', h('bdi', {}, only!), '” in your local key daemon. Leave blank if it has none.')
      : h('p', {}, h('label', { for: 'wallet' }, 'Wallet'), wallet)
  const isConfirmed = await openDialog({
    title: 'Wallet password',
    body: [which, h('label', { for: 'password' }, 'Password'), password],
    confirmLabel: 'Unlock',
  })
  const result = { wallet: wallets.length === 1 ? only! : wallet.value, password: password.value }
  password.value = ''
  if (!isConfirmed) throw new PaymentError('declined')
  return result
}

export type DialogOptions = { readonly title: string; readonly body: readonly Node[]; readonly confirmLabel: string }

/** Resolves to true if the person confirms, and to false if the dialog is closed in another way. */
export function openDialog({ title, body, confirmLabel }: DialogOptions): Promise<boolean> {
  const cancel = h('button', { type: 'button', class: 'plain' }, 'Cancel')
  const form = h(
    'form',
    {},
    h('h2', { id: 'dialog-title' }, title),
    ...body,
    h('div', { class: 'buttons' }, cancel, h('button', { type: 'submit', class: 'main' }, confirmLabel)),
  )
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  document.body.append(dialog)
  return new Promise((resolve) => {
    let isConfirmed = false
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      isConfirmed = true
      dialog.close()
    })
    cancel.addEventListener('click', () => dialog.close())
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(isConfirmed)
    })
    dialog.showModal()
    form.querySelector('input')?.focus()
  })
}
