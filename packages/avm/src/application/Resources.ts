/** The resources that the transactions of a top-level group name. Programs share them from version 9 on. */
import type { Transaction } from '@latchkey/algorand'
import { appAddress } from './appAddress.js'
import * as ByteKey from './ByteKey.js'

type Txn = Transaction.Transaction
type AccessEntry = NonNullable<Txn['al']>[number]

/** The key of a holding or a local state. */
export function pairKey(address: ByteKey.ByteKey, id: bigint): string {
  return address + id.toString(36)
}

/** A box that a transaction names. `appId` is 0 for an application that the transaction creates. */
export type BoxReference = { readonly appId: bigint; readonly name: ByteKey.ByteKey }

/** Named resources, and those that were created by the group. */
export class Resources {
  readonly accounts = new Set<ByteKey.ByteKey>()
  readonly assets = new Set<bigint>()
  readonly apps = new Set<bigint>()
  readonly holdings = new Set<string>()
  readonly locals = new Set<string>()
  readonly createdAssets = new Set<bigint>()
  readonly createdApps = new Set<bigint>()
  readonly boxes: BoxReference[] = []
  /** References without a box, which only add to the budget of boxes. */
  emptyReferences = 0

  constructor(transactions: readonly Txn[]) {
    for (const transaction of transactions) this.#add(transaction)
  }

  #add(txn: Txn): void {
    const sender = ByteKey.of(txn.snd)
    this.accounts.add(sender)
    switch (txn.type) {
      case 'pay':
        this.#addAccounts(txn.rcv, txn.close)
        break
      case 'acfg':
        if (txn.caid !== undefined) this.assets.add(txn.caid)
        break
      case 'axfer':
        this.#addHoldings(txn.xaid ?? 0n, txn.snd, txn.arcv, txn.asnd, txn.aclose)
        break
      case 'afrz':
        this.#addHoldings(txn.faid ?? 0n, txn.fadd)
        break
      case 'appl':
        if (txn.al === undefined) this.#addCall(txn, sender)
        else this.#addAccessList(txn, sender, txn.al)
        break
    }
  }

  #addAccounts(...addresses: readonly (Uint8Array | undefined)[]): void {
    for (const address of addresses) if (address !== undefined) this.accounts.add(ByteKey.of(address))
  }

  #addHoldings(assetId: bigint, ...addresses: readonly (Uint8Array | undefined)[]): void {
    this.assets.add(assetId)
    for (const address of addresses) {
      if (address === undefined) continue
      const key = ByteKey.of(address)
      this.accounts.add(key)
      this.holdings.add(pairKey(key, assetId))
    }
  }

  /** All pairs of what a call names are available. */
  #addCall({ apid = 0n, apat = [], apfa = [], apas = [], apbx = [] }: Txn, sender: ByteKey.ByteKey): void {
    const apps = apid === 0n ? apfa : [apid, ...apfa]
    const addresses = [sender, ...apat.map(ByteKey.of), ...apps.map(appAddress)]
    for (const address of addresses) {
      this.accounts.add(address)
      for (const asset of apas) this.holdings.add(pairKey(address, asset))
      for (const app of apps) this.locals.add(pairKey(address, app))
    }
    for (const asset of apas) this.assets.add(asset)
    for (const app of apps) this.apps.add(app)
    for (const { i = 0n, n } of apbx) {
      if (i === 0n && n === undefined) this.emptyReferences++
      else this.#addBox(i === 0n ? apid : (apfa[Number(i) - 1] ?? 0n), n)
    }
  }

  /** An access list names every pair. */
  #addAccessList({ apid = 0n }: Txn, sender: ByteKey.ByteKey, access: readonly AccessEntry[]): void {
    if (apid !== 0n) {
      this.apps.add(apid)
      this.locals.add(pairKey(sender, apid))
    }
    const entry = (index: bigint): AccessEntry | undefined => access[Number(index) - 1]
    const addressAt = (index = 0n): ByteKey.ByteKey => {
      const address = entry(index)?.d
      return index === 0n || address === undefined ? sender : ByteKey.of(address)
    }
    const appAt = (index = 0n): bigint => (index === 0n ? apid : (entry(index)?.p ?? 0n))
    for (const { d, s, p, h, l, b } of access) {
      if (d !== undefined) this.accounts.add(ByteKey.of(d))
      else if (s !== undefined) this.assets.add(s)
      else if (p !== undefined) this.apps.add(p)
      else if (h !== undefined) this.holdings.add(pairKey(addressAt(h.d), entry(h.s ?? 0n)?.s ?? 0n))
      else if (l !== undefined) this.locals.add(pairKey(addressAt(l.d), appAt(l.p)))
      else if (b !== undefined) this.#addBox(appAt(b.i), b.n)
      else this.emptyReferences++
    }
  }

  #addBox(appId: bigint, name: Uint8Array | undefined): void {
    this.boxes.push({ appId, name: name === undefined ? '' : ByteKey.of(name) })
  }
}
