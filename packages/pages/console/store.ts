/** What the views share: the wallets, which of them are unlocked, the node, and notices. In memory only. */
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Api } from './api.js'
import { Payments } from './model/payments.js'
import type { Node, Wallet } from './responses.js'
import { HandleLostError, SessionLostError } from './wire.js'

export type OpenWallet = Wallet & { handle: string; lifetimeSeconds: number; expiresAtMs: number }
export type Notice = { id: number; isProblem: boolean; text: string }

const mostNotices = 3
/** Whole seconds are told, and answers take their time. */
const earlyMs = 2_000

export class Store {
  readonly api: Api
  /** The person has ended the session. */
  readonly onEnd: () => void
  readonly payments = new Payments()
  wallets: readonly Wallet[] | undefined
  node: Node | undefined
  /** The wallet that was looked at last: going back to the wallets goes back to it. */
  chosenId: string | undefined
  notices: readonly Notice[] = []
  readonly #open = new Map<string, OpenWallet>()
  readonly #timers = new Map<string, number>()
  readonly #listeners = new Set<() => void>()
  #lastNotice = 0

  constructor(options: { api: Api; onEnd: () => void }) {
    this.api = options.api
    this.onEnd = options.onEnd
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  changed(): void {
    for (const listener of this.#listeners) listener()
  }

  get openWallets(): readonly OpenWallet[] {
    return [...this.#open.values()]
  }

  openWallet(id: string): OpenWallet | undefined {
    return this.#open.get(id)
  }

  async loadWallets(): Promise<void> {
    this.wallets = await this.api.wallets()
    this.changed()
  }

  async loadNode(): Promise<void> {
    this.node = await this.api.node()
    this.changed()
  }

  /** Without one, what only a node knows is not asked for. */
  async hasNode(): Promise<boolean> {
    if (this.node === undefined) await this.loadNode()
    return this.node?.isSet ?? false
  }

  async unlock(wallet: Wallet, password: string): Promise<void> {
    const handle = await this.api.unlock({ walletId: wallet.id, password })
    const before = this.#open.get(wallet.id)
    if (before !== undefined) this.api.release(before.handle).catch(() => {})
    this.#open.set(wallet.id, { ...wallet, handle, lifetimeSeconds: 0, expiresAtMs: Number.POSITIVE_INFINITY })
    await this.renew(wallet.id)
  }

  async renew(id: string): Promise<void> {
    await this.use(id, async ({ handle }) => {
      // Whole seconds, rounded down: asked at once, the lifetime is one more.
      const lifetimeSeconds = (await this.api.renew(handle)) + 1
      const open = this.#open.get(id)
      if (open?.handle !== handle) return
      this.#open.set(id, { ...open, lifetimeSeconds, expiresAtMs: Date.now() + lifetimeSeconds * 1000 })
      clearTimeout(this.#timers.get(id))
      this.#timers.set(
        id,
        window.setTimeout(() => this.#expire(id, handle), Math.min(lifetimeSeconds * 1000, 2 ** 31 - 1)),
      )
    })
    this.changed()
  }

  /** Work with an unlocked wallet. One whose handle has gone is locked here too. */
  async use<T>(id: string, work: (wallet: OpenWallet) => Promise<T>): Promise<T> {
    const wallet = this.#open.get(id)
    if (wallet === undefined) throw new HandleLostError('the wallet is locked')
    try {
      return await work(wallet)
    } catch (error) {
      if (error instanceof HandleLostError) this.#expire(id, wallet.handle)
      throw error
    }
  }

  async lock(id: string): Promise<void> {
    const wallet = this.#open.get(id)
    this.#close(id)
    this.changed()
    if (wallet !== undefined) await this.api.release(wallet.handle).catch(() => {})
  }

  /** The page is going away, and the handles with it. */
  releaseAll(): Promise<unknown> {
    const handles = this.openWallets.map(({ handle }) => handle)
    this.forgetAll()
    return Promise.allSettled(handles.map((handle) => this.api.release(handle, { keepalive: true })))
  }

  forgetAll(): void {
    for (const { id } of this.openWallets) this.#close(id)
    this.changed()
  }

  tell(text: string, options: { isProblem?: boolean } = {}): void {
    const notice = { id: ++this.#lastNotice, isProblem: options.isProblem ?? false, text }
    this.notices = [...this.notices.filter((other) => other.text !== text), notice].slice(-mostNotices)
    this.changed()
  }

  dismiss(id: number): void {
    this.notices = this.notices.filter((notice) => notice.id !== id)
    this.changed()
  }

  #expire(id: string, handle: string): void {
    const wallet = this.#open.get(id)
    if (wallet?.handle !== handle) return
    this.#close(id)
    const name = this.openName(wallet)
    // Its password was changed, say, or another program ended the handle.
    const isEarly = Date.now() < wallet.expiresAtMs - earlyMs
    this.tell(
      isEarly
        ? `The daemon has locked the wallet ${name}.`
        : `The wallet ${name} locked itself after ${wallet.lifetimeSeconds} seconds.`,
    )
  }

  openName(wallet: Wallet): string {
    return wallet.name === '' ? wallet.id : wallet.name
  }

  #close(id: string): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    this.#open.delete(id)
  }
}

export const StoreContext = createContext<Store | undefined>(undefined)

/** Drawn again whenever the store changes. */
export function useStore(): Store {
  const store = useContext(StoreContext)!
  const [, setCount] = useState(0)
  useEffect(() => store.subscribe(() => setCount((count) => count + 1)), [store])
  return store
}

/** For a person, where the place of the failure shows it. Undefined where the whole page does. */
export function messageOf(error: unknown): string | undefined {
  if (error instanceof SessionLostError || error instanceof HandleLostError) return undefined
  const message = error instanceof Error ? error.message : String(error)
  const sentence = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
