/** Spending of one asset over time: a bar chart, and a table with the same figures. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { formatMoney, ratio, roundUp, unitOf } from '../model/amount.js'
import type { Spending } from '../model/payments.js'
import { formatAxisTime, formatTime } from '../model/time.js'
import { type TimeBucket, timeBuckets } from '../model/timeBuckets.js'

/** The labels have separate rows above and below the bars, because a bar can be anywhere in between. */
const margin = { top: 24, right: 4, bottom: 24, left: 4 }
const room = 148
const height = margin.top + room + margin.bottom
/** Room for the longest time on the axis. */
const axisLabelWidth = 64

type ChartProps = { spending: Spending; nowMs: number; dollarIds: readonly string[] }

export function Chart({ spending, nowMs, dollarIds }: ChartProps) {
  const { stepMs, buckets } = timeBuckets(spending.spends, nowMs)
  const unit = unitOf(spending)
  const show = (amount: bigint): string => formatMoney(amount, spending, dollarIds)
  const total = buckets.reduce((sum, { confirmed, unconfirmed }) => sum + confirmed + unconfirmed, 0n)
  return (
    <BarChart
      title={`Spending in ${unit} over time`}
      about={`${show(total)} in ${buckets.length} intervals of ${stepMs / 1000} seconds, at most ${show(topOf(buckets))} in one. The table below has the figures.`}
      stepMs={stepMs}
      buckets={buckets}
      show={show}
      formatFrom={formatTime}
      legend={
        <>
          <span class="key confirmed">confirmed</span>
          <span class="key unconfirmed">signed, not confirmed</span>
        </>
      }
    >
      <SpendingTable buckets={buckets} show={show} />
    </BarChart>
  )
}

type BarChartProps = BarsProps & {
  legend?: ComponentChildren
  /** The table with the same figures. */
  children: ComponentChildren
}

export function BarChart({ legend, children, ...bars }: BarChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  return (
    <figure class="chart">
      <div ref={box}>{width > 0 && <Bars {...bars} width={width} />}</div>
      {legend !== undefined && <figcaption>{legend}</figcaption>}
      <details>
        <summary>Show as table</summary>
        {children}
      </details>
    </figure>
  )
}

type BarsProps = {
  title: string
  /** The same data as a sentence for screen readers. */
  about: string
  buckets: readonly TimeBucket[]
  stepMs: number
  show: (amount: bigint) => string
  formatFrom: (ms: number) => string
}

function topOf(buckets: readonly TimeBucket[]): bigint {
  return roundUp(buckets.reduce((highest, { confirmed, unconfirmed }) => max(highest, confirmed + unconfirmed), 0n))
}

function Bars({ title, about, buckets, stepMs, width, show, formatFrom }: BarsProps & { width: number }) {
  const id = useId()
  const top = topOf(buckets)
  const slot = (width - margin.left - margin.right) / buckets.length
  const base = height - margin.bottom
  const hasLabel = axisLabels(buckets.length, slot, width)
  return (
    <svg width={width} height={height} role="img" aria-labelledby={`${id}-title`} aria-describedby={`${id}-desc`}>
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-desc`}>{about}</desc>
      <line class="grid" x1={0} x2={width} y1={margin.top + 0.5} y2={margin.top + 0.5} />
      <line class="grid" x1={0} x2={width} y1={margin.top + room / 2 + 0.5} y2={margin.top + room / 2 + 0.5} />
      <line class="axis" x1={0} x2={width} y1={base + 0.5} y2={base + 0.5} />
      <text class="axis-label" x={2} y={margin.top - 8}>
        {show(top)}
      </text>
      {buckets.map(({ fromMs, confirmed, unconfirmed }, index) => {
        const x = margin.left + index * slot
        const low = bar(confirmed, top, room)
        const high = bar(unconfirmed, top, room)
        const barWidth = Math.max(2, slot - Math.min(6, slot / 4))
        return (
          <g key={fromMs}>
            {low + high > 0 && <title>{`${formatFrom(fromMs)}: ${show(confirmed + unconfirmed)}`}</title>}
            {low > 0 && <rect class="confirmed" x={x} y={base - low} width={barWidth} height={low} />}
            {high > 0 && <rect class="unconfirmed" x={x} y={base - low - high} width={barWidth} height={high} />}
            {hasLabel(index) && (
              <text class="axis-label" x={x} y={height - 6}>
                {formatAxisTime(fromMs, stepMs)}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

function SpendingTable({ buckets, show }: { buckets: readonly TimeBucket[]; show: (amount: bigint) => string }) {
  const filled = buckets.filter(({ confirmed, unconfirmed }) => confirmed + unconfirmed > 0n)
  return (
    <FigureTable columns={['From', 'Confirmed', 'Not confirmed']}>
      {filled.map(({ fromMs, confirmed, unconfirmed }) => (
        <tr key={fromMs}>
          <td>{formatTime(fromMs)}</td>
          <td class="figure">{show(confirmed)}</td>
          <td class="figure">{show(unconfirmed)}</td>
        </tr>
      ))}
    </FigureTable>
  )
}

type FigureTableProps = { columns: readonly string[]; class?: string; children: ComponentChildren }

/** A table of figures, with a column of names before them. */
export function FigureTable({ columns, class: className, children }: FigureTableProps) {
  return (
    <table class={className}>
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th key={column} scope="col" class={index === 0 ? undefined : 'figure'}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

/** At least one pixel, so that every amount is visible. */
function bar(amount: bigint, top: bigint, room: number): number {
  return amount === 0n ? 0 : Math.max(1, ratio(amount, top) * room)
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** Selects the bars with a time label: as many as fit without touching each other or the edge. */
function axisLabels(count: number, slot: number, width: number): (index: number) => boolean {
  const every = Math.max(1, Math.ceil(count / Math.max(2, Math.floor(width / 110))))
  return (index) => index % every === 0 && margin.left + index * slot + axisLabelWidth <= width
}

/** The width in CSS pixels. A scaled drawing would also scale its text. */
function useWidth(box: { current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [box])
  return width
}
