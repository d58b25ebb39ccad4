/** Loaded after the first screen, because it needs the audit log. */
import { lazyPart } from '../components/Lazy.js'

export const EarlierPayments = lazyPart(async () => (await import('./EarlierPayments.js')).EarlierPayments)
