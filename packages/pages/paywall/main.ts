/**
 * The payment flow: connect a wallet, sign, settle, show the paid content. Never makes a second payment without
 * consent.
 */
import './paywall.css'
import { accountChooser } from './accountChooser.js'
import { type Balances, fetchBalances, preselect } from './balances.js'
import { openDialog } from './dialog.js'
import { button, h, slot } from './dom.js'
import { errorMessage, PaymentError, rejectionMessage } from './messages.js'
import {
  formatPrice,
  type Offer,
  type PaymentRequired,
  type PaymentRequirement,
  readPageData,
  type WalletOption,
  walletName,
} from './pageData.js'
import { renderContent } from './paidContent.js'
import { fetchParameters, paymentHeader, unsignedPayment } from './payment.js'
import { clearStoredPayment, type StoredPayment, storedPayment, storePayment } from './storedPayment.js'
import { fetchRequirements, type Outcome, passText, submitPayment } from './submitPayment.js'
import {
  clearMessage,
  enableHelp,
  receiptList,
  showActions,
  showHelp,
  showMessage,
  showOffer,
  showProgress,
  stepList,
  walletButton,
} from './view.js'
import { type ConnectedWallet, connect } from './wallets.js'

const data = readPageData()
let offerIndex = 0
let isBusy = false

const offer = (): Offer => data.offers[offerIndex]!

/** Runs one task at a time. If it fails, restores the previous step and shows the error. */
async function runTask(task: () => Promise<void>, restore: () => void): Promise<void> {
  if (isBusy) return
  isBusy = true
  enableOffers(false)
  clearMessage()
  try {
    await task()
  } catch (error) {
    restore()
    // The focused button is gone; continue at the first action.
    if (document.activeElement === document.body) slot('pay').querySelector('button')?.focus()
    const message = errorMessage(error)
    showMessage(message, message.isChoice === true ? 'open' : 'bad')
  } finally {
    isBusy = false
  }
}

/** Adds a cancel button to a wallet request. Canceling aborts the request and ignores its result. */
function withCancel<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const cancellation = new AbortController()
  return new Promise((resolve, reject) => {
    const cancel = (): void => {
      cancellation.abort()
      reject(new PaymentError('declined'))
    }
    slot('pay').append(button('Cancel', 'link', cancel))
    request(cancellation.signal).then(resolve, reject)
  })
}

/** Replaces the progress text with a button until it is clicked. */
function waitForClick(label: string): Promise<void> {
  const wait = slot('pay').querySelector('.wait')
  return new Promise((resolve) => {
    const proceed = button(`Continue to ${label}`, 'main', () => {
      proceed.replaceWith(wait!)
      resolve()
    })
    wait?.replaceWith(proceed)
    proceed.focus()
  })
}

function enableOffers(isEnabled: boolean): void {
  const offers = document.querySelector<HTMLFieldSetElement>('[data-offers]')
  if (offers !== null) offers.disabled = !isEnabled
}

/** The page has the same text. */
const byUsage =
  'The seller charges what is used, and never more. Wallets cannot sign a price by usage yet: pay from a terminal or a program.'

function showWallets(): void {
  enableOffers(true)
  const { wallets, network, isUpTo } = offer()
  if (wallets.length === 0) {
    showActions(h('p', { class: 'note' }, isUpTo ? byUsage : `No supported wallet can pay on ${network.name}.`))
  } else {
    const buttons = wallets.map((option) =>
      walletButton(option, wallets.length === 1, () => runTask(() => connectWallet(option), showWallets)),
    )
    showActions(h('h2', {}, 'Pay from'), h('div', { class: 'wallets' }, ...buttons))
  }
  showHelp(offerIndex)
}

async function connectWallet(option: WalletOption): Promise<void> {
  showProgress('Connect', `Connecting to ${walletName(option)}…`)
  const paidIn = offer()
  const parameters = fetchParameters(paidIn.network.caip2)
  const connected = await withCancel((signal) =>
    connect({ option, offer: paidIn, parameters, siteName: data.name, kmd: data.kmd, waitForClick, signal }),
  )
  showProgress('Connect', 'Looking up balances…')
  showAccounts(connected, await fetchBalances(paidIn, connected.addresses, (await parameters).minFee))
}

function showAccounts(connected: ConnectedWallet, balances: Balances, previous?: string): void {
  enableOffers(false)
  const { addresses, name } = connected
  const selected = previous ?? preselect(addresses, balances)
  const price = formatPrice(offer())
  const chooser = accountChooser({ name, addresses, balances, selected, price })
  const pay = button(`Pay ${price}`, 'main', () => {
    const payer = chooser.selected()
    const restore = (): void => showAccounts(connected, balances, payer)
    return runTask(() => payFrom(connected, payer, restore), restore)
  })
  showActions(stepList('Sign'), chooser.element, pay, button('Use another wallet', 'link', restart))
  pay.focus()
}

function restart(): void {
  clearMessage()
  showWallets()
}

async function payFrom(connected: ConnectedWallet, payer: string, restore: () => void): Promise<void> {
  showProgress('Sign', `Waiting for a signature from ${connected.name}…`)
  const current = await currentRequirement()
  if (current instanceof Response) {
    await showContent(current)
    return
  }
  const { required, requirement } = current
  const parameters = await fetchParameters(offer().network.caip2)
  const unsigned = unsignedPayment(requirement, parameters, payer)
  const signed = await withCancel(() => connected.sign(unsigned, payer))
  const payment = {
    header: paymentHeader(required, requirement, unsigned, signed),
    transactionId: unsigned.transactionId,
    price: formatPrice(offer()),
    network: offer().network.name,
    signedMs: Date.now(),
  }
  // Stored before it is sent, because it may be settled from then on.
  storePayment(payment)
  await settle(payment, restore)
}

/** Fetches the selected requirement again: its fee payer may change, its price may not. */
async function currentRequirement(): Promise<
  { required: PaymentRequired; requirement: PaymentRequirement } | Response
> {
  const required = await fetchRequirements().catch(() => {
    throw new PaymentError('seller_unreachable')
  })
  if (required instanceof Response) {
    if (required.ok) return required
    throw new PaymentError('seller_unavailable')
  }
  const shown = data.required.accepts[offerIndex]!
  const isSame = (other: PaymentRequirement): boolean =>
    other.scheme === 'exact' &&
    other.network === shown.network &&
    other.asset === shown.asset &&
    other.amount === shown.amount &&
    other.payTo === shown.payTo
  const requirement = required.accepts.find(isSame)
  if (requirement === undefined) throw new PaymentError('price_changed')
  return { required, requirement }
}

async function settle(payment: StoredPayment, restore: () => void): Promise<void> {
  showProgress('Settle', 'Payment sent. Waiting for settlement…')
  window.addEventListener('beforeunload', confirmUnload)
  const outcome = await submitPayment(payment, (reason) =>
    showProgress(
      'Settle',
      reason === 'no_response' ? 'No response yet. Sending the same payment again…' : 'Not settled yet. Waiting…',
    ),
  ).finally(() => window.removeEventListener('beforeunload', confirmUnload))
  await showOutcome(outcome, payment, restore)
}

function confirmUnload(event: Event): void {
  event.preventDefault()
}

async function showOutcome(outcome: Outcome, payment: StoredPayment, restore: () => void): Promise<void> {
  if (outcome.type === 'paid') {
    // A seller that failed after the settlement accepts the payment again.
    if (outcome.response.status < 400) clearStoredPayment()
    await showContent(outcome.response, payment, outcome.hasReceipt)
  } else if (outcome.type === 'rejected') {
    clearStoredPayment()
    restore()
    showMessage(rejectionMessage(outcome.code, outcome.message))
  } else if (outcome.type === 'already_used') {
    clearStoredPayment()
    offerRetry(payment, 'was settled')
    const text = `The seller settled the payment and responded once, but the response did not arrive here. Contact the seller with this transaction ID: ${payment.transactionId}`
    showMessage({ title: 'This payment was already used', text })
  } else if (outcome.type === 'seller_failed') {
    offerRetry(payment)
    const text = 'The seller did not report a charge. Sending the same payment again costs nothing extra.'
    showMessage({ title: `The seller failed with status ${outcome.status}`, text })
  } else {
    offerRetry(payment)
    const title = outcome.reason === 'pending' ? 'The payment is not settled yet' : 'No response from the seller'
    showMessage({ title, text: 'Your payment is saved. Sending it again never charges you twice.' })
  }
}

/** Offers to send a signed payment again. A new payment needs a confirmation. */
function offerRetry(payment: StoredPayment, state = 'may still be settled', above: Node = stepList('Settle')): void {
  enableOffers(false)
  const retry = button('Send the payment again', 'main', () =>
    runTask(
      () => settle(payment, restart),
      () => offerRetry(payment, state),
    ),
  )
  const payAgain = button('Make a new payment', 'link', () => confirmNewPayment(payment, state))
  showActions(above, retry, payAgain)
  retry.focus()
}

async function confirmNewPayment({ price }: StoredPayment, state: string): Promise<void> {
  const text = `Your payment of ${price} ${state}. If you make another payment, you may pay twice.`
  const isConfirmed = await openDialog({
    title: 'Pay a second time?',
    body: [h('p', {}, text)],
    confirmLabel: 'Pay again',
  })
  if (!isConfirmed) return
  clearStoredPayment()
  restart()
}

/** Shows the response. Without a payment, the seller did not charge for it. */
async function showContent(response: Response, payment?: StoredPayment, hasReceipt = false): Promise<void> {
  const { element, saveLink } = await renderContent(response)
  const rows = [
    ['Paid', payment === undefined ? 'nothing' : `${payment.price} on ${payment.network}`],
    ...(payment === undefined ? [] : [['Transaction', payment.transactionId]]),
  ] as [string, string][]
  const hasFailed = payment !== undefined && response.status >= 400
  // The outcome comes before its details.
  slot('pay').before(slot('status'))
  if (hasFailed) offerRetry(payment, 'is settled', receiptList(rows))
  else showActions(receiptList(rows))
  for (const name of ['facts', 'price-block', 'offers']) document.querySelector(`[data-${name}]`)?.remove()
  document.title = document.querySelector('h1')!.innerText
  if (hasFailed) {
    const title = `Paid, but the seller responded with status ${response.status}`
    const text =
      'Sending the same payment again costs nothing extra. If that does not help, contact the seller with this transaction ID.'
    showMessage({ title, text })
  } else if (payment === undefined) {
    const opens = passText(response)
    const free = 'The seller does not charge for this page at the moment.'
    const text = opens === undefined ? free : `You already paid for this page: it opens ${opens}.`
    showMessage({ title: 'No payment needed', text }, 'good')
  } else {
    const receipt = hasReceipt ? '' : 'The seller sent no receipt. '
    const opens = passText(response)
    const again =
      opens === undefined
        ? 'Opening this page again requires another payment: save what you want to keep.'
        : `In this browser, the page opens again without payment, ${opens}.`
    const text = `${receipt}${again}`
    showMessage({ title: 'Payment complete', text }, 'good')
  }
  const section = slot('content')
  section.replaceChildren(...(saveLink === undefined ? [] : [h('p', { class: 'bar' }, saveLink)]), element)
  section.hidden = false
  document.body.classList.add('open')
  section.tabIndex = -1
  if (!hasFailed) section.focus()
}

clearMessage()
enableHelp()
document.querySelector('[data-offers]')?.addEventListener('change', (event) => {
  offerIndex = Number((event.target as HTMLInputElement).value)
  showOffer(offer())
  restart()
})
const unfinished = storedPayment()
if (unfinished === undefined) {
  showWallets()
} else {
  offerRetry(unfinished)
  const time = new Date(unfinished.signedMs).toLocaleTimeString([], { timeStyle: 'short' })
  const text = `You signed a payment of ${unfinished.price} at ${time}, but no response arrived. Sending the same payment again never charges you twice.`
  showMessage({ title: 'A payment for this page is open', text }, 'open')
}
