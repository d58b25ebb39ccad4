/** Spending by payee: a table whose rows have bars. */
import { ratio } from '../model/amount.js'
import type { PayeeTotal } from '../model/dailySpending.js'
import { ShortAddress } from './AddressText.js'

type Props = { payees: readonly PayeeTotal[]; show: (amount: bigint) => string }

const maxShown = 10

export function PayeeChart({ payees, show }: Props) {
  const shown = payees.slice(0, maxShown)
  const rest = payees.slice(maxShown)
  const top = shown[0]?.amount ?? 0n
  return (
    <table class="bar-table">
      <thead>
        <tr>
          <th scope="col">Payee</th>
          <th scope="col" class="figure">
            Payments
          </th>
          <th scope="col" class="figure">
            Spent
          </th>
        </tr>
      </thead>
      <tbody>
        {shown.map(({ address, amount, count }) => (
          <tr key={address}>
            <td>
              <ShortAddress address={address} />
              <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                <rect width={Math.max(0.5, ratio(amount, top) * 100)} height={1} />
              </svg>
            </td>
            <td class="figure">{count.toLocaleString('en')}</td>
            <td class="figure">{show(amount)}</td>
          </tr>
        ))}
        {rest.length > 0 && (
          <tr>
            <td>{rest.length === 1 ? 'One other payee' : `${rest.length} other payees`}</td>
            <td class="figure">{rest.reduce((sum, { count }) => sum + count, 0).toLocaleString('en')}</td>
            <td class="figure">{show(rest.reduce((sum, { amount }) => sum + amount, 0n))}</td>
          </tr>
        )}
      </tbody>
    </table>
  )
}
