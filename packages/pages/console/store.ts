/** State shared by the views: wallets, open handles, labels, node status and notices. Kept in memory only. */

import { backupOperations, contactOperations, nodeOperations, walletOperations } from '@latchkey/kmd-api/operations'
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { loadContents } from './accounts.js'
import type { CallOptions, Daemon } from './daemon.js'
import { ConsoleError, hasCode } from './errors.js'
import { type KnownAddress, knownAddresses } from './model/knownAddresses.js'
import { Payments } from './model/payments.js'
import { isFinal, isRenewalDue } from './model/renewal.js'
import { safeName } from './model/safeName.js'
import type { WalletContents } from './model/signerOptions.js'
import type { Approval, NodeStatus, Wallet } from './responseTypes.js'

export type OpenWallet = Wallet & { handle: string; lifetimeSeconds: number; expiresAtMs: number; isFinal: boolean }
export type Notice = { id: number; isError: boolean; text: string }

const maxNotices = 3
const developmentWallet = 'x402-buyer'
/** The longest delay that timers accept. A longer one would fire immediately. */
const maxTimerMs = 2 ** 31 - 1
/** Tolerance for responses in whole seconds. */
const earlyMs = 2_000

export class Store {
  readonly daemon: Daemon
  /** Called when the person ends the session. */
  readonly onEnd: () => void
  readonly payments = new Payments()
  wallets: readonly Wallet[] | undefined
  node: NodeStatus | undefined
  /** The address book: the owner's label by address. */
  labels: ReadonlyMap<string, string> = new Map()
  /** Why the address book is not available, or undefined if it is. */
  labelsError: unknown
  /** The ids of the wallets that were created in the console and are not backed up yet. */
  pendingBackups: ReadonlySet<string> = new Set()
  /**
   * The wallet that was selected or locked last. It is shown again when the person returns to the wallets view, and is
   * the first choice wherever a wallet has to be unlocked.
   */
  selectedId: string | undefined
  notices: readonly Notice[] = []
  /** The undecided requests of agents; undefined until loaded. */
  openApprovals: readonly Approval[] | undefined
  /** Changes whenever an approval is requested, decided, used or expires. */
  approvalsRevision = ''
  readonly #open = new Map<string, OpenWallet>()
  readonly #timers = new Map<string, number>()
  readonly #contents = new Map<string, WalletContents>()
  readonly #renewing = new Set<string>()
  readonly #lockedByHand = new Set<string>()
  #isOpeningDevelopmentWallet = false
  readonly #listeners = new Set<() => void>()
  #lastNotice = 0

  constructor(options: { daemon: Daemon; onEnd: () => void }) {
    this.daemon = options.daemon
    this.onEnd = options.onEnd
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Redraws every view that uses the store. */
  emitChange(): void {
    for (const listener of this.#listeners) listener()
  }

  /** The assets that are a dollar on the network of the daemon's node. */
  get dollarIds(): readonly string[] {
    return this.node?.usdcAssetIds ?? []
  }

  get openWallets(): readonly OpenWallet[] {
    return [...this.#open.values()]
  }

  openWallet(id: string): OpenWallet | undefined {
    return this.#open.get(id)
  }

  async loadWallets(): Promise<void> {
    const [{ wallets }, pending] = await Promise.all([
      this.daemon.call(walletOperations.ListWallets),
      // A damaged list of backups must not hide the wallets.
      this.daemon.call(backupOperations.ListPendingBackups).catch(() => undefined),
    ])
    this.wallets = wallets
    if (pending !== undefined) this.pendingBackups = new Set(pending.walletIds)
    this.emitChange()
  }

  /** Loads the addresses of an unlocked wallet. They are discarded when it is locked. */
  async loadContents(id: string): Promise<WalletContents> {
    const contents = await this.withHandle(id, ({ handle }) => loadContents(this.daemon, handle))
    if (this.#open.has(id)) this.#contents.set(id, contents)
    this.emitChange()
    return contents
  }

  /** The addresses of an unlocked wallet, as last loaded. */
  contents(id: string): WalletContents | undefined {
    return this.#contents.get(id)
  }

  /** The addresses to suggest to the person: those of unlocked wallets, and the address book. */
  knownAddresses(): readonly KnownAddress[] {
    const wallets = this.openWallets.map((wallet) => {
      const { keys = [], multisigs = [] } = this.#contents.get(wallet.id) ?? {}
      const addresses = [...keys, ...multisigs.map(({ address }) => address)]
      return { walletId: wallet.id, walletName: this.displayName(wallet), addresses }
    })
    return knownAddresses(wallets, this.labels)
  }

  async loadLabels(): Promise<void> {
    try {
      const { contacts } = await this.daemon.call(contactOperations.ListContacts)
      this.labels = new Map(contacts.map(({ address, label }) => [address, label]))
      this.labelsError = undefined
    } catch (error) {
      this.labelsError = error
    }
    this.emitChange()
  }

  /** The owner's label of an address, or empty if it has none. */
  labelOf(address: string): string {
    return this.labels.get(address) ?? ''
  }

  /** Sets the label of an address. An empty label removes it. */
  async setLabel(address: string, label: string): Promise<void> {
    if (label.trim() === '') await this.daemon.call(contactOperations.DeleteContact, { address })
    else await this.daemon.call(contactOperations.SetContact, { address, label })
    await this.loadLabels()
  }

  async loadNode(): Promise<void> {
    this.node = await this.daemon.call(nodeOperations.GetNode)
    this.emitChange()
  }

  /** Whether the daemon has a node. Without one, requests that need a node would fail and are not sent. */
  async hasNode(): Promise<boolean> {
    if (this.node === undefined) await this.loadNode()
    return this.node?.isSet ?? false
  }

  setOpenApprovals(approvals: readonly Approval[], revision: string): void {
    this.openApprovals = approvals
    this.approvalsRevision = revision
    this.emitChange()
  }

  async unlock(wallet: Wallet, password: string): Promise<void> {
    const request = { wallet_id: wallet.id, wallet_password: password }
    const { walletHandleToken: handle } = await this.daemon.call(walletOperations.InitWalletHandleToken, request)
    this.#lockedByHand.delete(wallet.id)
    const previous = this.#open.get(wallet.id)
    if (previous !== undefined) this.#release(previous).catch(() => {})
    this.#open.set(wallet.id, { ...wallet, handle, ...unknownLifetime })
    await this.renew(wallet.id)
    // Loads addresses for the address fields; the views reload them.
    await this.loadContents(wallet.id).catch(() => {})
  }

  async renew(id: string): Promise<void> {
    await this.withHandle(id, async ({ handle }) => {
      // Counted from before the request, so that the page never shows a wallet as unlocked longer than the daemon does.
      const sentAtMs = Date.now()
      const request = { wallet_handle_token: handle }
      const { walletHandle } = await this.daemon.call(walletOperations.RenewWalletHandleToken, request)
      // The daemon rounds down to whole seconds, so the actual lifetime after a renewal is one second more.
      const lifetimeSeconds = walletHandle.expiresSeconds + 1
      const expiresAtMs = sentAtMs + lifetimeSeconds * 1000
      const open = this.#open.get(id)
      if (open?.handle !== handle) return
      this.#open.set(id, { ...open, lifetimeSeconds, expiresAtMs, isFinal: isFinal(open, { expiresAtMs }, sentAtMs) })
      clearTimeout(this.#timers.get(id))
      const delayMs = Math.min(expiresAtMs - Date.now(), maxTimerMs)
      this.#timers.set(
        id,
        window.setTimeout(() => this.#expire(id, handle), delayMs),
      )
    })
    this.emitChange()
  }

  /** Renews the handles that are due. Called on input, so that the wallets of an unused page lock. */
  renewInUse(): void {
    const nowMs = Date.now()
    for (const wallet of this.openWallets) {
      const { id } = wallet
      if (this.#renewing.has(id) || !isRenewalDue(wallet, nowMs)) continue
      this.#renewing.add(id)
      // If the daemon does not respond, the wallet locks on time.
      this.renew(id)
        .catch(() => {})
        .finally(() => this.#renewing.delete(id))
    }
  }

  /** Whether the development stack created this wallet without a password. Nothing in it has any value. */
  isDevelopmentWallet({ name }: Wallet): boolean {
    return this.node?.hasFaucet === true && name === developmentWallet
  }

  /** Opens the buyer's wallet of the development stack, and keeps it open, unless the person locked it. */
  async keepDevelopmentWalletOpen(): Promise<void> {
    const wallet = this.wallets?.find((one) => this.isDevelopmentWallet(one))
    if (wallet === undefined || this.#lockedByHand.has(wallet.id)) return
    const open = this.#open.get(wallet.id)
    if (open !== undefined) return isRenewalDue(open, Date.now()) ? this.renew(wallet.id) : undefined
    // A slow answer must not cause a second attempt, because wrong passwords are counted.
    if (this.#isOpeningDevelopmentWallet) return
    this.#isOpeningDevelopmentWallet = true
    try {
      await this.unlock(wallet, '')
    } catch (error) {
      // It was given a password: the person unlocks it.
      if (hasCode(error, 'wrong_password')) this.#lockedByHand.add(wallet.id)
      throw error
    } finally {
      this.#isOpeningDevelopmentWallet = false
    }
  }

  /** Runs work that needs an unlocked wallet. Locks the wallet in the page if the daemon has ended its handle. */
  async withHandle<T>(id: string, work: (wallet: OpenWallet) => Promise<T>): Promise<T> {
    const wallet = this.#open.get(id)
    if (wallet === undefined) throw new ConsoleError('wallet_locked')
    try {
      return await work(wallet)
    } catch (error) {
      if (hasCode(error, 'wallet_locked')) this.#expire(id, wallet.handle)
      throw error
    }
  }

  async lock(id: string): Promise<void> {
    const wallet = this.#open.get(id)
    this.#close(id)
    this.#lockedByHand.add(id)
    this.emitChange()
    if (wallet !== undefined) await this.#release(wallet).catch(() => {})
  }

  /** Releases all handles, including while the page unloads. */
  releaseAll(): Promise<unknown> {
    const { openWallets } = this
    this.closeAll()
    return Promise.allSettled(openWallets.map((wallet) => this.#release(wallet, { keepalive: true })))
  }

  /** Locks all wallets in the page without a request to the daemon. */
  closeAll(): void {
    for (const { id } of this.openWallets) this.#close(id)
    this.emitChange()
  }

  notify(text: string, options: { isError?: boolean } = {}): void {
    const notice = { id: ++this.#lastNotice, isError: options.isError ?? false, text }
    this.notices = [...this.notices.filter((other) => other.text !== text), notice].slice(-maxNotices)
    this.emitChange()
  }

  dismiss(id: number): void {
    this.notices = this.notices.filter((notice) => notice.id !== id)
    this.emitChange()
  }

  #release({ handle }: OpenWallet, options?: CallOptions): Promise<unknown> {
    return this.daemon.call(walletOperations.ReleaseWalletHandleToken, { wallet_handle_token: handle }, options)
  }

  #expire(id: string, handle: string): void {
    const wallet = this.#open.get(id)
    if (wallet?.handle !== handle) return
    this.#close(id)
    if (this.isDevelopmentWallet(wallet)) {
      this.emitChange()
      return
    }
    const name = this.displayName(wallet)
    // For example, the password was changed or another program ended the handle.
    const isEarly = Date.now() < wallet.expiresAtMs - earlyMs
    this.notify(
      isEarly
        ? `The daemon locked the wallet ${name}.`
        : `The wallet ${name} was locked after ${wallet.lifetimeSeconds} seconds.`,
    )
  }

  displayName(wallet: Wallet): string {
    return wallet.name === '' ? wallet.id : safeName(wallet.name)
  }

  #close(id: string): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    this.#open.delete(id)
    this.#contents.delete(id)
    // The wallet that was in use is the one to unlock next.
    this.selectedId = id
  }
}

/** Used until the first renewal. */
const unknownLifetime = { lifetimeSeconds: 0, expiresAtMs: Number.POSITIVE_INFINITY, isFinal: false }

export const StoreContext = createContext<Store | undefined>(undefined)

/** Returns the store and redraws the component when the store changes. */
export function useStore(): Store {
  const store = useContext(StoreContext)!
  const [, setCount] = useState(0)
  useEffect(() => store.subscribe(() => setCount((count) => count + 1)), [store])
  return store
}
