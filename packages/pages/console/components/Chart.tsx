/** Spending of one asset over time, as bars, with a table that says the same. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { format, ratio, roundUp, unitOf } from '../model/amounts.js'
import { type Bucket, bucketsOf } from '../model/buckets.js'
import type { Spending } from '../model/payments.js'
import { formatMark, formatMoment } from '../model/time.js'

const height = 180
const margin = { top: 8, right: 4, bottom: 24, left: 4 }

export function Chart({ spending, nowMs }: { spending: Spending; nowMs: number }) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const { stepMs, buckets } = bucketsOf(spending.spends, nowMs)
  const unit = unitOf(spending)
  const show = (amount: bigint): string => `${format(amount, spending.decimals)} ${unit}`
  return (
    <figure class="chart">
      <div ref={box}>
        {width > 0 && <Bars buckets={buckets} stepMs={stepMs} width={width} show={show} unit={unit} />}
      </div>
      <figcaption>
        <span class="key settled">settled</span>
        <span class="key unsettled">signed, not seen in a block</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <SpendingTable buckets={buckets} show={show} />
      </details>
    </figure>
  )
}

type BarsProps = {
  buckets: readonly Bucket[]
  stepMs: number
  width: number
  show: (amount: bigint) => string
  unit: string
}

function Bars({ buckets, stepMs, width, show, unit }: BarsProps) {
  const id = useId()
  const top = roundUp(buckets.reduce((most, { settled, unsettled }) => max(most, settled + unsettled), 0n))
  const total = buckets.reduce((sum, { settled, unsettled }) => sum + settled + unsettled, 0n)
  const room = height - margin.top - margin.bottom
  const slot = (width - margin.left - margin.right) / buckets.length
  const base = height - margin.bottom
  const isMarked = marks(buckets.length, width)
  return (
    <svg width={width} height={height} role="img" aria-labelledby={`${id}-title`} aria-describedby={`${id}-desc`}>
      <title id={`${id}-title`}>Spending in {unit} over time</title>
      <desc id={`${id}-desc`}>
        {`${show(total)} in ${buckets.length} spans of ${stepMs / 1000} seconds, at most ${show(top)} in one. The table below has the figures.`}
      </desc>
      <line class="grid" x1={0} x2={width} y1={margin.top + 0.5} y2={margin.top + 0.5} />
      <line class="grid" x1={0} x2={width} y1={margin.top + room / 2 + 0.5} y2={margin.top + room / 2 + 0.5} />
      <line class="axis" x1={0} x2={width} y1={base + 0.5} y2={base + 0.5} />
      <text class="mark" x={2} y={margin.top + 14}>
        {show(top)}
      </text>
      {buckets.map(({ fromMs, settled, unsettled }, index) => {
        const x = margin.left + index * slot
        const low = bar(settled, top, room)
        const high = bar(unsettled, top, room)
        const thick = Math.max(2, slot - Math.min(6, slot / 4))
        return (
          <g key={fromMs}>
            {low + high > 0 && <title>{`${formatMoment(fromMs)}: ${show(settled + unsettled)}`}</title>}
            {low > 0 && <rect class="settled" x={x} y={base - low} width={thick} height={low} />}
            {high > 0 && <rect class="unsettled" x={x} y={base - low - high} width={thick} height={high} />}
            {isMarked(index) && (
              <text class="mark" x={x} y={height - 6}>
                {formatMark(fromMs, stepMs)}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

function SpendingTable({ buckets, show }: { buckets: readonly Bucket[]; show: (amount: bigint) => string }) {
  const filled = buckets.filter(({ settled, unsettled }) => settled + unsettled > 0n)
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col" class="figure">
            Settled
          </th>
          <th scope="col" class="figure">
            Not seen
          </th>
        </tr>
      </thead>
      <tbody>
        {filled.map(({ fromMs, settled, unsettled }) => (
          <tr key={fromMs}>
            <td>{formatMoment(fromMs)}</td>
            <td class="figure">{show(settled)}</td>
            <td class="figure">{show(unsettled)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** What is there at all can be seen. */
function bar(amount: bigint, top: bigint, room: number): number {
  return amount === 0n ? 0 : Math.max(1, ratio(amount, top) * room)
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function marks(count: number, width: number): (index: number) => boolean {
  const every = Math.max(1, Math.ceil(count / Math.max(2, Math.floor(width / 110))))
  return (index) => index % every === 0 && index + every / 2 < count
}

/** In real pixels, so that letters keep their size. */
function useWidth(box: { current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [box])
  return width
}
