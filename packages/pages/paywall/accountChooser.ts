/** The paying account: its address and balance, or a choice of several accounts. */
import type { Balances } from './balances.js'
import { h } from './dom.js'
import { shortAddress } from './pageData.js'

export type AccountChooser = { readonly element: HTMLElement; readonly selected: () => string }

export type ChooserOptions = {
  /** The wallet within a sentence. */
  readonly name: string
  readonly addresses: readonly string[]
  readonly balances: Balances
  readonly selected: string
  readonly price: string
}

export function accountChooser(options: ChooserOptions): AccountChooser {
  const { name, addresses, selected } = options
  const [only] = addresses
  if (addresses.length === 1) {
    const address = h('span', { title: only! }, shortAddress(only!))
    const from = h('p', {}, `From ${name}: `, address)
    return { element: h('div', { class: 'from' }, from, balanceLine(only!, options)), selected: () => only! }
  }
  const select = h('select', { id: 'account', 'aria-describedby': 'balance' }, ...optionElements(options))
  select.value = selected
  let line = balanceLine(selected, options)
  select.addEventListener('change', () => {
    const next = balanceLine(select.value, options)
    line.replaceWith(next)
    line = next
  })
  const element = h('div', { class: 'from' }, h('label', { for: 'account' }, `From ${name}`), select, line)
  return { element, selected: () => select.value }
}

function optionElements({ addresses, balances }: ChooserOptions): HTMLOptionElement[] {
  return addresses.map((address) => {
    const balance = balances.get(address)
    return h(
      'option',
      { value: address },
      `${shortAddress(address)}${balance === undefined ? '' : ` · ${balance.text}`}`,
    )
  })
}

/** Always one line high, so that nothing moves when another account is selected. */
function balanceLine(address: string, { addresses, balances, price }: ChooserOptions): HTMLElement {
  const balance = balances.get(address)
  const line = (text: string, state: string): HTMLElement => h('p', { class: `balance ${state}`, id: 'balance' }, text)
  if (balance === undefined) return line('Balance unknown', '')
  if (balance.canPay) return line(`Balance: ${balance.text}`, '')
  const isNone = addresses.every((one) => balances.get(one)?.canPay === false)
  const whole = isNone && addresses.length > 1 ? `None of these accounts can pay ${price}` : `Cannot pay ${price}`
  return line(`${whole}: ${balance.text}`, 'short')
}
