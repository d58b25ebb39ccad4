/** Explains how to pay without a wallet: where to get one for the network, and the command that pays. */
import { clip, escapeText } from './escape.js'
import type { PaywallWallet, WalletOffer } from './paywallOptions.js'

const walletSites: { readonly [wallet in PaywallWallet]: { readonly url: string; readonly kind: string } } = {
  pera: { url: 'https://perawallet.app', kind: 'phone app' },
  defly: { url: 'https://defly.app', kind: 'phone app' },
  lute: { url: 'https://lute.app', kind: 'web wallet and browser extension' },
  exodus: { url: 'https://www.exodus.com', kind: 'browser extension' },
  kibisis: { url: 'https://kibis.is', kind: 'browser extension' },
}

const testMoney: { readonly [unit: string]: string } = {
  ALGO: 'https://bank.testnet.algorand.network',
  USDC: 'https://faucet.circle.com',
}

/** The command-line name of each public network. The command itself only detects local networks. */
const networkWords: { readonly [name: string]: string } = {
  'Algorand MainNet': 'mainnet',
  'Algorand TestNet': 'testnet',
  'Algorand BetaNet': 'betanet',
}

const maxCommandLength = 2_000
const maxUnitLength = 12

/** One element per offer; the script shows the one of the selected offer. */
export function helpElement(offer: WalletOffer, { index, url }: { index: number; url: string | undefined }): string {
  const word = networkWords[offer.network.name]
  const steps = word === undefined ? localSteps(offer) : publicSteps(offer, word)
  const command = url === undefined ? undefined : commandFor(url, word)
  const terminal = command === undefined ? '' : `<p>Or pay from a terminal:</p><pre>${escapeText(command)}</pre>`
  const hidden = index === 0 ? '' : ' hidden'
  return `<details class="help needs-script" data-help="${index}"${hidden}><summary>No wallet yet?</summary>${steps}${terminal}</details>`
}

function publicSteps(offer: WalletOffer, word: string): string {
  const links = offer.wallets.flatMap(({ wallet, label }) => {
    if (wallet === 'kmd') return []
    const { url, kind } = walletSites[wallet]
    return [`<li>${link(url, label)}, ${kind}</li>`]
  })
  const install =
    links.length === 0 ? '' : `<p>Install one of these, then open this page again:</p><ul>${links.join('')}</ul>`
  const unit = escapeText(clip(offer.unit, maxUnitLength))
  const optIn = offer.asset === '0' ? '' : ` It has to opt in to ${unit} (asset ${escapeText(offer.asset)}) first.`
  const source = word === 'testnet' ? testMoney[unit] : undefined
  const free = source === undefined ? '' : ` It is free on TestNet: ${link(source, new URL(source).host)}.`
  return `${install}<p>The account pays in ${unit} on ${escapeText(offer.network.name)}.${optIn}${free}</p>`
}

function localSteps({ wallets }: WalletOffer): string {
  const hasDaemon = wallets.some(({ wallet }) => wallet === 'kmd')
  const daemon = hasDaemon
    ? 'Choose the local key daemon above: it has the wallets for this network.'
    : 'The seller can offer a key daemon’s wallets with the option <code>kmd</code>.'
  return `<p>This is a local network for development; its money has no value. <code>latchkey dev</code> starts one with a wallet that can pay. ${daemon}</p>`
}

const link = (url: string, text: string): string =>
  `<a href="${url}" target="_blank" rel="noopener noreferrer">${escapeText(text)}</a>`

/**
 * A command that can be pasted into any shell, or undefined if the URL is too long. The sender of a link chooses the
 * URL, so every character that a shell interprets between double quotes is percent-encoded, which keeps its meaning.
 */
export function commandFor(url: string, networkWord: string | undefined): string | undefined {
  const safe = new URL(url).href.replace(/["$`!\\'^|<>]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  })
  const command = `latchkey pay "${safe}"${networkWord === undefined ? '' : ` --network ${networkWord}`}`
  return command.length > maxCommandLength ? undefined : command
}
