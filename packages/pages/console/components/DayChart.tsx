/** An agent's spending on each of the last days. */

import { type DailySpending, dayCount } from '../model/dailySpending.js'
import { formatDay } from '../model/time.js'
import { BarChart } from './Chart.js'

type Props = { spending: DailySpending; show: (amount: bigint) => string }

const dayMs = 86_400_000

export function DayChart({ spending, show }: Props) {
  const { days, total } = spending
  return (
    <BarChart
      title={`Spending by day, the last ${dayCount} days`}
      about={`${show(total)} in ${dayCount} days. The table below has the figures.`}
      stepMs={dayMs}
      buckets={days.map(({ fromMs, amount }) => ({ fromMs, confirmed: amount, unconfirmed: 0n }))}
      show={show}
      formatFrom={formatDay}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="figure">
              Spent
            </th>
          </tr>
        </thead>
        <tbody>
          {days
            .filter(({ amount }) => amount > 0n)
            .map(({ fromMs, amount }) => (
              <tr key={fromMs}>
                <td>{formatDay(fromMs)}</td>
                <td class="figure">{show(amount)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </BarChart>
  )
}
