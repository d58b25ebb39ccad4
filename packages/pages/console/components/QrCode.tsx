/** A QR code, dark on light in every colour scheme: not every reader takes the inverse. */
import { useMemo } from 'preact/hooks'
import { encode } from 'uqr'

const quiet = 4

export function QrCode({ text, title }: { text: string; title: string }) {
  const { size, path } = useMemo(() => {
    const { size, data } = encode(text, { ecc: 'M', border: quiet })
    const runs = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    return { size, path: runs.join('') }
  }, [text])
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" shape-rendering="crispEdges">
      <title>{title}</title>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
