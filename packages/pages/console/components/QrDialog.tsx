/** An address as a QR code, for wallets on a phone. */
import { useState } from 'preact/hooks'
import { AddressText } from './AddressText.js'
import { CopyButton } from './CopyButton.js'
import { Dialog } from './Dialog.js'
import { QrCode } from './QrCode.js'

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
