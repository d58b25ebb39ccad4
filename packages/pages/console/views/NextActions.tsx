/** The next useful actions. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Act } from '../act.js'
import { ShortAddress } from '../components/AddressText.js'
import { UnlockInView } from '../components/UnlockInView.js'
import { toSentence } from '../messages.js'
import type { NextAction } from '../model/overview.js'
import type { Wallet } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { type Store, useStore } from '../store.js'
import { BackupDialog } from './lazyBackup.js'

type Props = { actions: readonly NextAction[]; act: Act; onCreate: () => void }

/** A longer list would no longer be a hint. */
const maxShown = 3

export function NextActions({ actions, act, onCreate }: Props) {
  const store = useStore()
  const [backedUp, setBackedUp] = useState<Wallet>()
  const shown = actions.slice(0, maxShown)
  return (
    <>
      {shown.length > 0 && (
        <ol class="next" aria-label="What to do next">
          {shown.map((action, index) => (
            <li key={keyOf(action)}>
              <ActionText
                action={action}
                isFirst={index === 0}
                act={act}
                onCreate={onCreate}
                onBackUp={(id) => setBackedUp(walletOf(store, id))}
              />
            </li>
          ))}
        </ol>
      )}
      {backedUp !== undefined && <BackupDialog wallet={backedUp} onClose={() => setBackedUp(undefined)} />}
    </>
  )
}

function keyOf(action: NextAction): string {
  return action.kind === 'back-up' ? `${action.kind}:${action.walletId}` : action.kind
}

function walletOf(store: Store, id: string): Wallet | undefined {
  return store.wallets?.find((wallet) => wallet.id === id)
}

type ActionProps = {
  action: NextAction
  isFirst: boolean
  act: Act
  onCreate: () => void
  onBackUp: (walletId: string) => void
}

function ActionText({ action, isFirst, act, onCreate, onBackUp }: ActionProps) {
  const store = useStore()
  const style = isFirst ? 'main' : ''
  switch (action.kind) {
    case 'create-wallet':
      return (
        <Line title="Create your first wallet" text="A wallet is a set of keys with one password.">
          <button type="button" class={style} onClick={onCreate}>
            Create wallet
          </button>
        </Line>
      )
    case 'back-up': {
      const wallet = walletOf(store, action.walletId)
      const name = wallet === undefined ? '' : store.displayName(wallet)
      return (
        <Line title={`Back up ${name}`} text="If this machine is lost, so are the wallet’s keys.">
          <button type="button" class={style} onClick={() => onBackUp(action.walletId)}>
            Back up<span class="visually-hidden"> {name}</span>
          </button>
        </Line>
      )
    }
    case 'unlock':
      return <UnlockInView act={act} purpose="to see balances and to send" onUnlocked={() => act.clear()} />
    case 'set-node':
      return (
        <Line
          title="Connect a node"
          text="Keys and signatures work without one. For balances and sending, start the daemon with --node URL, or set “algod” in kmd_config.json."
        />
      )
    case 'fix-node':
      return (
        <Line title="The node is not reachable" text={toSentence(store.node?.message ?? '')}>
          <ActionLink isFirst={isFirst} href={hrefOf({ view: 'settings' })} text="Show the status" />
        </Line>
      )
    case 'generate-key':
      return (
        <Line title="Generate a key" text="Each key is an address that can hold funds.">
          <ActionLink
            isFirst={isFirst}
            href={hrefOf({ view: 'wallets', walletId: action.walletId })}
            text="Open the wallet"
          />
        </Line>
      )
    case 'fund':
      return (
        <Line
          title="Fund an account"
          text={store.node?.hasFaucet ? 'The local network gives test funds.' : 'Your accounts hold no ALGO yet.'}
        >
          <ActionLink
            isFirst={isFirst}
            href={hrefOf({ view: 'receive', address: action.address, assetId: undefined })}
            text="Receive"
          />
        </Line>
      )
    case 'unconfirmed':
      return (
        <Line
          title={action.count === 1 ? 'One payment to check' : `${action.count} payments to check`}
          text="Signed here but not found on the network."
        >
          <ActionLink isFirst={isFirst} href={hrefOf({ view: 'payments' })} text="Show payments" />
        </Line>
      )
    case 'opt-in':
      return (
        <Line
          title="Opt in to USDC"
          text={
            <>
              Then <ShortAddress address={action.address} /> can receive it.
            </>
          }
        >
          <ActionLink
            isFirst={isFirst}
            href={hrefOf({ view: 'opt-in', address: action.address, assetId: action.assetId })}
            text="Opt in"
          />
        </Line>
      )
  }
}

type LineProps = { title: string; text: ComponentChildren; children?: ComponentChildren }

function Line({ title, text, children }: LineProps) {
  return (
    <div class="next-line">
      <p>
        <b>{title}</b>
        <span class="soft">{text}</span>
      </p>
      {children}
    </div>
  )
}

function ActionLink({ isFirst, href, text }: { isFirst: boolean; href: string; text: string }) {
  return (
    <a class={isFirst ? 'button main' : 'button'} href={href}>
      {text}
    </a>
  )
}
