// Bundles the paywall into one script and one style sheet, which the page that the server renders refers to.
import { fileURLToPath } from 'node:url'

/** Dependencies of use-wallet for wallets that the paywall does not offer. */
const unused = [
  '@walletconnect/sign-client',
  '@walletconnect/modal',
  '@web3auth/modal',
  '@web3auth/base',
  '@web3auth/base-provider',
  '@web3auth/single-factor-auth',
  'magic-sdk',
  '@magic-ext/algorand',
]
/** Animations in the dialogs of Pera and Defly: half of the script, loaded from other hosts, and run by `eval`. */
const animations = ['lottie-web', '@evanhahn/lottie-web-light']

const stubs = {
  name: 'stubs',
  enforce: 'pre',
  resolveId: (id) => (unused.includes(id) || animations.includes(id) ? `\0stub:${id}` : undefined),
  load: (id) => {
    if (!id.startsWith('\0stub:')) return undefined
    if (animations.includes(id.slice(6))) return 'export default { loadAnimation: () => ({ destroy: () => {} }) }'
    return 'export default undefined'
  },
}

/** The same dialogs load fonts from Google. */
const fonts = {
  name: 'fonts',
  transform: (code, id) =>
    /defly-connect|@perawallet/.test(id) ? code.replace(/@import url\([^)]*fonts\.googleapis[^)]*\);/g, '') : undefined,
}

/** Two wallets depend on one QR code library under two names. */
const alias = { '@likecoin/qr-code-styling': 'qr-code-styling' }

export const settings = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  define: { global: 'globalThis' },
  plugins: [stubs, fonts],
  resolve: { alias },
  build: {
    outDir: fileURLToPath(new URL('../dist/paywall', import.meta.url)),
    emptyOutDir: true,
    modulePreload: false,
    chunkSizeWarningLimit: 2_000,
    cssCodeSplit: false,
    rolldownOptions: {
      input: fileURLToPath(new URL('main.ts', import.meta.url)),
      output: {
        codeSplitting: false,
        entryFileNames: 'assets/paywall-[hash].js',
        assetFileNames: 'assets/paywall-[hash][extname]',
      },
    },
  },
}
