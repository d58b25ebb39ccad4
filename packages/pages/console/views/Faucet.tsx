/** Test funds from the faucet of a devnet, or where to get them on TestNet. */
import { transferOperations } from '@latchkey/kmd-api/operations'
import { useRef, useState } from 'preact/hooks'
import { ErrorText } from '../components/ErrorText.js'
import { errorMessage } from '../messages.js'
import { useStore } from '../store.js'

type Props = { address: string; onFunded: () => Promise<void> }

const gift = '10000000'

export function Faucet({ address, onFunded }: Props) {
  const { node } = useStore()
  if (node?.hasFaucet) return <DevnetFaucet address={address} onFunded={onFunded} assetId={node.usdcAssetIds[0]} />
  if (node?.network !== 'testnet') return null
  return (
    <>
      <div class="section-head">
        <h2>Test funds</h2>
      </div>
      <p>
        TestNet funds are free: <Outside href="https://bank.testnet.algorand.network">ALGO dispenser</Outside>,{' '}
        <Outside href="https://faucet.circle.com">USDC faucet</Outside>.
      </p>
    </>
  )
}

function Outside({ href, children }: { href: string; children: string }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

function DevnetFaucet({ address, onFunded, assetId }: Props & { assetId: string | undefined }) {
  const { fund, isBusy, error, message } = useFaucet(address, onFunded)
  return (
    <>
      <div class="section-head">
        <h2>Devnet faucet</h2>
      </div>
      <p class="actions after">
        <button type="button" disabled={isBusy} onClick={() => fund()}>
          Get 10 ALGO
        </button>
        {assetId !== undefined && (
          <button type="button" disabled={isBusy} onClick={() => fund(assetId)}>
            Get 10 USDC
          </button>
        )}
        <span role="status">{message}</span>
      </p>
      <ErrorText text={error} />
      <p class="hint">Devnet money is worth nothing. Getting USDC also opts the account in.</p>
    </>
  )
}

type FaucetButtonProps = { address: string; what: string; onFunded: () => Promise<void> }

/** The faucet button of an account; nothing on any other network. */
export function FaucetButton({ address, what, onFunded }: FaucetButtonProps) {
  const store = useStore()
  const { fund, isBusy } = useFaucet(address, onFunded, (text) => store.notify(text, { isError: true }))
  if (!store.node?.hasFaucet) return null
  return (
    <button type="button" class="quiet" disabled={isBusy} onClick={() => fund()}>
      Get 10 ALGO<span class="visually-hidden"> for {what}</span>
    </button>
  )
}

function useFaucet(address: string, onFunded: () => Promise<void>, onError: (text: string) => void = () => {}) {
  const store = useStore()
  const isRunning = useRef(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const [message, setMessage] = useState('')
  const run = async (assetId: string | undefined): Promise<void> => {
    if (isRunning.current) return
    isRunning.current = true
    setBusy(true)
    setError(undefined)
    setMessage('')
    try {
      const request = assetId === undefined ? { micro_algos: gift } : { asset_id: assetId, amount: gift }
      await store.daemon.call(transferOperations.FundAccount, { address, ...request })
      setMessage(assetId === undefined ? '10 ALGO arrived.' : '10 USDC arrived.')
      await onFunded()
    } catch (caught) {
      const text = errorMessage(caught)
      setError(text)
      if (text !== undefined) onError(text)
    }
    isRunning.current = false
    setBusy(false)
  }
  return { fund: (assetId?: string) => void run(assetId), isBusy, error, message }
}
