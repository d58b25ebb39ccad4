/** The contents of the send form. They survive navigation, because the person may have to opt in or add funds first. */
import { blankDraft, type SendDraft } from './model/sendDraft.js'
import { navigate } from './route.js'
import type { Store } from './store.js'

const drafts = new WeakMap<Store, SendDraft>()

export function savedDraft(store: Store): SendDraft {
  return drafts.get(store) ?? blankDraft
}

export function saveDraft(store: Store, draft: SendDraft): void {
  drafts.set(store, draft)
}

export function clearDraft(store: Store): void {
  drafts.delete(store)
}

/** Opens the send form with a receiver. */
export function sendTo(store: Store, address: string): void {
  saveDraft(store, { ...blankDraft, to: address })
  navigate({ view: 'send', address: undefined, assetId: undefined })
}
