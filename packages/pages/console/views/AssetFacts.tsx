/** The network's data about an asset. The creator chose its name, which is therefore quoted. */
import { AddressText } from '../components/AddressText.js'
import { ExplorerLink } from '../components/ExplorerLink.js'
import { quote } from '../model/amount.js'
import type { AssetDetails } from '../responseTypes.js'
import { useStore } from '../store.js'

export function AssetFacts({ asset }: { asset: AssetDetails }) {
  const { node } = useStore()
  if (!asset.exists) return <p class="error">There is no asset {asset.assetId} on this network.</p>
  const isDollar = node?.usdcAssetIds.includes(asset.assetId) ?? false
  return (
    <>
      <dl class="facts compact">
        <div>
          <dt>Asset</dt>
          <dd>
            <ExplorerLink kind="asset" id={asset.assetId}>
              {asset.assetId}
            </ExplorerLink>
            {isDollar && <span class="tag">USDC on this network</span>}
          </dd>
        </div>
        <div>
          <dt>Name and unit</dt>
          <dd class="break">
            {[asset.name, asset.unitName]
              .filter((text) => text !== '')
              .map(quote)
              .join(', ') || 'none'}
          </dd>
        </div>
        <div>
          <dt>Decimals</dt>
          <dd>{asset.decimals}</dd>
        </div>
        <div>
          <dt>Creator</dt>
          <dd>
            <AddressText address={asset.creator} />
          </dd>
        </div>
      </dl>
      {!isDollar && <p class="hint">Anyone can give an asset any name. Compare the id.</p>}
      {asset.isFrozenByDefault && (
        <p class="aside">Accounts start frozen: they cannot use this asset until its freeze address unfreezes them.</p>
      )}
    </>
  )
}
