// Bundles the page, and the code of each wallet into a separate file that is loaded when the wallet is chosen. Each
// file is self-contained: a click causes one request, and no file refers to another, whose URL would depend on the
// seller's route.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DeflyWallet, ExodusWallet, KibisisWallet, LuteWallet, PeraWallet } from '@txnlab/use-wallet'
import * as algosdk from 'algosdk'
import { compactApi } from '../compactApi.mjs'

const path = (name) => fileURLToPath(new URL(name, import.meta.url))

/**
 * Animations in the dialogs of Pera and Defly. They are half of the script, are loaded from other hosts, and run with
 * `eval`.
 */
const animations = ['lottie-web', '@evanhahn/lottie-web-light']

const stubs = {
  name: 'stubs',
  enforce: 'pre',
  resolveId: (id) => (animations.includes(id) ? `\0stub:${id}` : undefined),
  load: (id) =>
    id.startsWith('\0stub:') ? 'export default { loadAnimation: () => ({ destroy: () => {} }) }' : undefined,
}

/** The same dialogs load fonts from Google. */
const fonts = {
  name: 'fonts',
  transform: (code, id) =>
    /defly-connect|@perawallet/.test(id) ? code.replace(/@import url\([^)]*fonts\.googleapis[^)]*\);/g, '') : undefined,
}

/** The parts of algosdk that the two libraries use. The others are for signing data, which the page never does. */
const usedOfAlgosdk = ['encodeUnsignedTransaction', 'decodeAddress', 'Algodv2', 'Indexer']

/** Replaces algosdk, half of the remaining size, in the libraries of Pera and Defly. */
const encodedTransactions = {
  name: 'encoded-transactions',
  enforce: 'pre',
  resolveId: (id) => (id === 'algosdk' ? path('connectors/encodedTransaction.ts') : undefined),
  transform: (code, id) => {
    const [, name] = /import\s*(\w+)\s*from\s*["']algosdk["']/.exec(code) ?? []
    if (name === undefined) return
    const members = [...code.matchAll(new RegExp(`(?<![\\w$.])${name}\\.(\\w+)`, 'g'))].map(([, member]) => member)
    const unknown = members.filter((member) => Object.hasOwn(algosdk, member) && !usedOfAlgosdk.includes(member))
    if (unknown.length > 0)
      throw new Error(`${id} uses ${unknown} of algosdk, which connectors/encodedTransaction.ts lacks`)
  },
}

/** The wallets' logos from use-wallet (MIT), and our own for the key daemon. */
const logos = {
  pera: PeraWallet.defaultMetadata.icon,
  defly: DeflyWallet.defaultMetadata.icon,
  lute: LuteWallet.defaultMetadata.icon,
  exodus: ExodusWallet.defaultMetadata.icon,
  kibisis: KibisisWallet.defaultMetadata.icon,
}

const wallets = [...Object.keys(logos), 'kmd']

/** The cell size in the image, with a gap so that colours at an edge do not bleed into the next logo. */
const cell = 24
const pitch = 32

/** All logos in one image: a single request, which the page does not wait for. */
function logoImage() {
  const drawn = Object.entries(logos).map(([wallet, icon]) => [wallet, Buffer.from(icon.split(',')[1], 'base64')])
  const cells = [...drawn, ['kmd', readFileSync(path('../console/icon.svg'))]].map(([wallet, svg], index) => {
    const text = String(svg)
      .replace(/\s+/g, ' ')
      .replace(/> </g, '><')
      .replace(/<title>.*?<\/title>/, '')
      .trim()
    const [, viewBox] = /viewBox="([\d ]+)"/.exec(text)
    const inside = text.replace(/^<svg[^>]*>/, '').replace(/(id="|url\(#)/g, `$1${wallet}-`)
    return `<svg x="${index * pitch}" width="${cell}" height="${cell}" viewBox="${viewBox}">${inside}`
  })
  const width = cells.length * pitch
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${cell}">${cells.join('')}</svg>`
}

/** The first build emits the image. The style sheet selects a wallet's part of it, in rem like its size. */
const logoFiles = {
  name: 'logos',
  enforce: 'pre',
  transform: (code, id) => {
    if (!id.endsWith('/firstPaint.css')) return undefined
    const size = `.logo{background-size:${(wallets.length * pitch) / 16}rem ${cell / 16}rem}`
    const places = wallets.map(
      (wallet, index) => `.logo[data-wallet="${wallet}"]{background-position:${(-index * pitch) / 16}rem 0}`,
    )
    return [code, size, ...places].join('\n')
  },
  generateBundle(_, bundle) {
    if (!Object.keys(bundle).some((name) => name.startsWith('assets/paywall-'))) return
    this.emitFile({ type: 'asset', name: 'logos.svg', source: logoImage() })
  },
}

/** Two wallets depend on one QR code library under two names. */
const alias = { '@likecoin/qr-code-styling': 'qr-code-styling' }

const common = {
  root: path('.'),
  define: { global: 'globalThis' },
  plugins: [stubs, fonts, encodedTransactions, logoFiles, compactApi],
  resolve: { alias },
}

function build(input, name, options) {
  return {
    ...common,
    build: {
      outDir: path('../dist/paywall'),
      modulePreload: false,
      chunkSizeWarningLimit: 1_000,
      cssCodeSplit: false,
      ...options,
      rolldownOptions: {
        input: path(input),
        // Without this option an entry loses its exports.
        preserveEntrySignatures: 'strict',
        output: {
          codeSplitting: false,
          entryFileNames: `assets/${name}-[hash].js`,
          assetFileNames: `assets/${name}-[hash][extname]`,
        },
      },
    },
  }
}

/** One build per file. */
export const settings = [
  build('main.ts', 'paywall', { emptyOutDir: true }),
  build('firstPaint.css', 'first', { emptyOutDir: false, cssCodeSplit: true }),
  ...wallets.map((wallet) => build(`connectors/${wallet}.ts`, `wallet-${wallet}`, { emptyOutDir: false })),
]
