/** A QR code, dark on light in both colour schemes: some readers reject the inverse. */
import { useMemo, useState } from 'preact/hooks'
import { encode } from 'uqr'
import { AddressText } from './AddressText.js'
import { CopyButton } from './CopyButton.js'
import { Dialog } from './Dialog.js'

const quietZone = 4

export function QrCode({ text, title }: { text: string; title: string }) {
  const { size, path } = useMemo(() => {
    const { size, data } = encode(text, { ecc: 'M', border: quietZone })
    const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    return { size, path: squares.join('') }
  }, [text])
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" shape-rendering="crispEdges">
      <title>{title}</title>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

/** An address as a QR code, for wallets on a phone. */
export function QrDialog({ address, onClose }: { address: string; onClose: () => void }) {
  const [isUri, setUri] = useState(true)
  const uri = `algorand://${address}`
  const text = isUri ? uri : address
  return (
    <Dialog title="Address as a QR code" onClose={onClose}>
      <QrCode text={text} title={`QR code of ${text}`} />
      <p>
        <AddressText address={address} />
      </p>
      <fieldset class="inline">
        <legend class="visually-hidden">Content of the QR code</legend>
        <label>
          <input type="radio" name="qr" checked={isUri} onChange={() => setUri(true)} /> algorand:// link
        </label>
        <label>
          <input type="radio" name="qr" checked={!isUri} onChange={() => setUri(false)} /> address only
        </label>
      </fieldset>
      <p class="actions">
        <CopyButton text={address} what="the address" label="Copy address" />
        <CopyButton text={uri} what="with the address" label="Copy link" />
      </p>
    </Dialog>
  )
}
