/** Shows an address and a payment request as a QR code, and on a devnet the faucet. */
import { useEffect, useState } from 'preact/hooks'
import { useAct } from '../act.js'
import { AccountSelect } from '../components/AccountSelect.js'
import { AddressText } from '../components/AddressText.js'
import { AmountFields } from '../components/AmountFields.js'
import { CopyButton } from '../components/CopyButton.js'
import { Heading } from '../components/Heading.js'
import { QrCode } from '../components/QrCode.js'
import { TextField } from '../components/TextField.js'
import { formatAlgos, formatMoney } from '../model/amount.js'
import { readAmount } from '../model/amountInput.js'
import { chosenAccount } from '../model/chosenAccount.js'
import * as PaymentUri from '../model/paymentUri.js'
import { chosenUnit, unknownUnitText } from '../model/sendDraft.js'
import { type OwnAccount, useOwnAccounts } from '../ownAccounts.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { Faucet } from './Faucet.js'
import { NoAccount } from './NoAccount.js'
import '../styles/money.css'
import '../styles/sign.css'

type Props = { address: string | undefined; assetId: string | undefined }

export function ReceiveView({ address, assetId }: Props) {
  const act = useAct()
  const { accounts, reload } = useOwnAccounts(address)
  const [selected, setSelected] = useState(address)
  const own = chosenAccount(accounts ?? [], selected)
  const hasAccounts = accounts !== undefined && accounts.length > 0
  // Keeps the first account in view after another wallet is unlocked.
  useEffect(() => {
    if (selected === undefined && own !== undefined) setSelected(own.address)
  }, [selected, own])
  return (
    <section aria-labelledby="receive-title">
      <Heading id="receive-title">Receive</Heading>
      {!hasAccounts && <NoAccount act={act} isLoaded={accounts !== undefined} purpose="to receive with it" />}
      {hasAccounts && (
        <div class="money">
          <AccountSelect label="Account" accounts={accounts} selected={own} isAddressShown onSelect={setSelected} />
        </div>
      )}
      {own !== undefined && (
        <>
          <PaymentRequest key={own.address} own={own} assetId={assetId} />
          <Faucet address={own.address} onFunded={reload} />
        </>
      )}
    </section>
  )
}

function PaymentRequest({ own, assetId: wanted }: { own: OwnAccount; assetId: string | undefined }) {
  const { dollarIds } = useStore()
  const [assetId, setAssetId] = useState(wanted ?? '0')
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const { units, unit, isKnown } = chosenUnit(own.account, assetId)
  const unknown = { error: unknownUnitText(own.account, assetId) }
  const read = amount.trim() === '' ? undefined : isKnown ? readAmount(amount, unit) : unknown
  const uri = PaymentUri.format({
    address: own.address,
    assetId: unit.assetId === '0' ? undefined : unit.assetId,
    units: read !== undefined && 'units' in read ? read.units : undefined,
    note: note.trim(),
  })
  return (
    <div class="receive">
      <div>
        <QrCode text={uri} title={`QR code of ${uri}`} />
      </div>
      <div>
        <p>
          <AddressText address={own.address} />
        </p>
        {own.account !== undefined && (
          <p class="soft">
            Balance: {formatAlgos(own.account.microAlgos)}
            {own.account.assets.map((asset) => `, ${formatMoney(asset.amount, asset, dollarIds)}`)}
          </p>
        )}
        <p class="actions">
          <CopyButton text={own.address} what="of the account" label="Copy address" isPlain />
          <CopyButton text={uri} what="with the address" label="Copy link" isPlain />
        </p>
        <AmountFields
          label="Amount (optional)"
          amount={amount}
          onAmount={setAmount}
          units={units}
          unit={unit}
          onUnit={setAssetId}
          error={read !== undefined && 'error' in read ? read.error : undefined}
        />
        <TextField label="Note (optional)" value={note} onInput={setNote} hint="Everyone can read it on the ledger." />
        <p class="hint">
          The account can receive ALGO and the assets in the list. For another asset,{' '}
          <a href={hrefOf({ view: 'opt-in', address: own.address, assetId: undefined })}>opt in</a> first.
        </p>
        <p class="small break">
          <span class="soft">Link:</span> <code>{uri}</code>
        </p>
      </div>
    </div>
  )
}
