/** Opts an account in to an asset, or out of an asset whose holding is empty. */

import { Readable } from '@latchkey/algorand'
import { useEffect, useState } from 'preact/hooks'
import type { Act } from '../act.js'
import { AccountSelect } from '../components/AccountSelect.js'
import { ErrorText } from '../components/ErrorText.js'
import { ExplorerLink } from '../components/ExplorerLink.js'
import { Problems } from '../components/Problems.js'
import { TextField } from '../components/TextField.js'
import { errorMessage } from '../messages.js'
import { formatMoney, unitOf } from '../model/amount.js'
import { chosenAccount } from '../model/chosenAccount.js'
import type { TransferProblem } from '../model/transferChecks.js'
import { type OwnAccount, useOwnAccounts } from '../ownAccounts.js'
import { loadAsset } from '../preparation.js'
import type { Asset, AssetDetails } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { AssetFacts } from './AssetFacts.js'
import { NoAccount } from './NoAccount.js'
import { type OnPrepare, TransferFlow } from './TransferFlow.js'
import '../styles/money.css'
import '../styles/sign.css'

type Props = { address: string | undefined; assetId: string | undefined }

export function OptInView(props: Props) {
  return (
    <TransferFlow
      name="opt-in"
      title="Opt in"
      action="Sign and send"
      again="Another asset"
      form={(onPrepare, act) => <OptInStart {...props} onPrepare={onPrepare} act={act} />}
    />
  )
}

type StartProps = Props & { onPrepare: OnPrepare; act: Act }

function OptInStart({ address, assetId, onPrepare, act }: StartProps) {
  const { accounts } = useOwnAccounts(address)
  if (accounts === undefined || accounts.length === 0) {
    return <NoAccount act={act} isLoaded={accounts !== undefined} purpose="to opt in one of its accounts" />
  }
  return <OptInForm {...{ address, assetId, accounts, onPrepare }} />
}

type FormProps = Props & { accounts: readonly OwnAccount[]; onPrepare: OnPrepare }

function OptInForm({ address, assetId: wanted, accounts, onPrepare }: FormProps) {
  const store = useStore()
  const [selected, setSelected] = useState(() => address ?? accounts[0]?.address)
  const [accountError, setAccountError] = useState<string>()
  const [assetId, setAssetId] = useState(wanted ?? '')
  const [fieldError, setFieldError] = useState<string>()
  const [problems, setProblems] = useState<readonly TransferProblem[]>([])
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const asset = useAsset(assetId)
  const own = chosenAccount(accounts, selected)

  const prepare = async (kind: 'opt-in' | 'opt-out', id: string): Promise<void> => {
    if (isBusy) return
    if (own === undefined) return setAccountError('Choose an account.')
    setBusy(true)
    setError(undefined)
    setProblems([])
    try {
      setProblems(await onPrepare({ kind, sender: own.address, assetId: id }))
    } catch (caught) {
      setError(errorMessage(caught))
    }
    setBusy(false)
  }
  const select = (chosen: string): void => {
    setSelected(chosen)
    setAccountError(undefined)
    setProblems([])
  }
  const enter = (text: string): void => {
    setAssetId(text)
    setFieldError(undefined)
    setProblems([])
  }
  const review = (event: Event): void => {
    event.preventDefault()
    if (isAssetId(assetId)) void prepare('opt-in', assetId.trim())
    else setFieldError('Enter the asset ID, a whole number.')
  }

  const dollars = store.node?.usdcAssetIds.slice(0, 2) ?? []
  return (
    <>
      <p class="lede soft">
        An account can receive an asset only after opting in to it. Each opt-in reserves 0.1 ALGO in the account; opting
        out releases it.
      </p>
      <form class="money" onSubmit={review} noValidate>
        <AccountSelect label="Account" accounts={accounts} selected={own} error={accountError} onSelect={select} />
        <TextField label="Asset ID" value={assetId} onInput={enter} inputMode="numeric" error={fieldError} />
        {dollars.length > 0 && (
          <p class="chips">
            {dollars.map((id) => (
              <button type="button" class="quiet" key={id} onClick={() => enter(id)}>
                USDC ({id})
              </button>
            ))}
          </p>
        )}
        {/* Otherwise two assets of the same name stand side by side. */}
        <p class="hint">{Readable.dollarKinds(dollars.map(BigInt))}</p>
        {asset !== undefined && <AssetFacts asset={asset} />}
        <Problems problems={problems} assetId={undefined} own={new Set(accounts.map((one) => one.address))} />
        <ErrorText text={error} />
        <p class="actions">
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Checking…' : 'Review the opt-in'}
          </button>
        </p>
      </form>
      {own !== undefined && <HeldAssets own={own} isBusy={isBusy} onOptOut={(id) => void prepare('opt-out', id)} />}
    </>
  )
}

type HeldAssetsProps = { own: OwnAccount; isBusy: boolean; onOptOut: (assetId: string) => void }

function HeldAssets({ own, isBusy, onOptOut }: HeldAssetsProps) {
  const { dollarIds } = useStore()
  const assets = own.account?.assets ?? []
  return (
    <>
      <div class="section-head">
        <h2>Opted in</h2>
      </div>
      {assets.length === 0 && <p class="empty">The account has not opted in to any asset.</p>}
      <ul class="rows">
        {assets.map((asset) => (
          <li key={asset.assetId} class="held">
            <span>
              {formatMoney(asset.amount, asset, dollarIds)}{' '}
              <span class="soft">
                <ExplorerLink kind="asset" id={asset.assetId}>
                  asset {asset.assetId}
                </ExplorerLink>
              </span>
              {asset.isFrozen && <span class="tag">frozen</span>}
            </span>
            <HeldAction address={own.address} asset={asset} isBusy={isBusy} onOptOut={onOptOut} />
          </li>
        ))}
      </ul>
    </>
  )
}

type HeldActionProps = { address: string; asset: Asset; isBusy: boolean; onOptOut: (assetId: string) => void }

function HeldAction({ address, asset, isBusy, onOptOut }: HeldActionProps) {
  const { assetId } = asset
  const what = <span class="visually-hidden"> {unitOf(asset)}</span>
  if (asset.amount !== '0') {
    return (
      <a class="button" href={hrefOf({ view: 'send', address, assetId })}>
        Send{what}
      </a>
    )
  }
  return (
    <button type="button" disabled={isBusy} onClick={() => onOptOut(assetId)}>
      Opt out{what}
    </button>
  )
}

function isAssetId(text: string): boolean {
  return /^[1-9]\d{0,19}$/.test(text.trim())
}

/** Looks up the asset whose id the person types, shortly after the last keystroke. */
function useAsset(assetId: string): AssetDetails | undefined {
  const store = useStore()
  const [asset, setAsset] = useState<AssetDetails>()
  useEffect(() => {
    setAsset(undefined)
    if (!isAssetId(assetId)) return
    let isCurrent = true
    const load = async (): Promise<void> => {
      const found = await loadAsset(store.daemon, assetId.trim()).catch(() => undefined)
      if (isCurrent) setAsset(found)
    }
    const timer = window.setTimeout(() => void load(), 250)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [store, assetId])
  return asset
}
