/** The dialog that creates a wallet in a separate file, for the views that open it. */
import { lazyDialog } from '../components/Lazy.js'

export const CreatingWallet = lazyDialog(async () => (await import('./CreatingWallet.js')).CreatingWallet)
