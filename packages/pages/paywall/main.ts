/** From the price to what was paid for: connect, sign, settle, done. One payment, unless the person asks for another. */
import './paywall.css'
import { shownAnswer } from './answer.js'
import { type Offer, priceText, type Required, type Requirement, readData, shortAddress } from './data.js'
import { ask } from './dialog.js'
import { button, h, place } from './dom.js'
import { messageFor, PaywallError, refusalMessage } from './messages.js'
import { askParameters, build, headerOf } from './payment.js'
import { askAgain, type Outcome, show } from './send.js'
import * as Kept from './storedPayment.js'
import { clearMessage, offerToDo, receiptOf, showMessage, showOffer, stepsAt, waiting } from './view.js'
import { type Connected, connect } from './wallets.js'

const data = readData()
let chosen = 0
let isBusy = false

const offer = (): Offer => data.offers[chosen]!

/** Work that takes a while: once at a time, and what goes wrong is told. */
async function busy(work: () => Promise<void>, back: () => void): Promise<void> {
  if (isBusy) return
  isBusy = true
  setChoosable(false)
  clearMessage()
  try {
    await work()
  } catch (error) {
    back()
    // The keyboard goes on where the person was.
    if (document.activeElement === document.body) place('pay').querySelector('button')?.focus()
    showMessage(messageFor(error))
  } finally {
    isBusy = false
  }
}

/** Waits for a wallet as long as the person does; what it brings after that goes nowhere. */
function untilCancelled<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    place('pay').append(button('Cancel', 'link', () => reject(new PaywallError('declined'))))
    work.then(resolve, reject)
  })
}

function setChoosable(is: boolean): void {
  const choice = document.querySelector<HTMLFieldSetElement>('[data-choice]')
  if (choice !== null) choice.disabled = !is
}

function chooseWallet(): void {
  setChoosable(true)
  const { ways, network } = offer()
  if (ways.length === 0) {
    offerToDo(h('p', { class: 'note' }, `No wallet that this page knows pays on ${network.name}.`))
    return
  }
  const buttons = ways.map(({ wallet, label }, index) =>
    button(label, ways.length === 1 && index === 0 ? 'main' : 'plain', () =>
      busy(() => connectTo(wallet, label), chooseWallet),
    ),
  )
  offerToDo(h('h2', {}, 'Pay from'), h('div', { class: 'wallets' }, ...buttons))
}

async function connectTo(wallet: Connected['wallet'], label: string): Promise<void> {
  waiting('Connect', `Connecting to ${label}…`)
  const parameters = await askParameters(offer().network.caip2)
  const connecting = { wallet, label, offer: offer(), parameters, siteName: data.name, kmd: data.kmd }
  chooseAccount(await untilCancelled(connect(connecting)))
}

function chooseAccount(connected: Connected, selected?: string): void {
  setChoosable(false)
  const { accounts, label } = connected
  const options = accounts.map(({ address }) => h('option', { value: address }, shortAddress(address)))
  const select = h('select', { id: 'account' }, ...options)
  if (selected !== undefined) select.value = selected
  const [only] = accounts
  const from =
    accounts.length === 1
      ? h('p', { class: 'from' }, `From ${label}: `, h('span', { title: only!.address }, shortAddress(only!.address)))
      : h('p', { class: 'from' }, h('label', { for: 'account' }, `From ${label}`), select)
  const pay = button(`Pay ${priceText(offer())}`, 'main', () => {
    const payer = accounts.length === 1 ? only!.address : select.value
    return busy(
      () => payFrom(connected, payer),
      () => chooseAccount(connected, payer),
    )
  })
  offerToDo(stepsAt('Sign'), from, pay, button('Another wallet', 'link', startOver))
  pay.focus()
}

function startOver(): void {
  clearMessage()
  chooseWallet()
}

async function payFrom(connected: Connected, payer: string): Promise<void> {
  waiting('Sign', `Asking ${connected.label} to sign…`)
  const asked = await freshRequirement()
  if (asked instanceof Response) {
    await served(asked)
    return
  }
  const { required, requirement } = asked
  const parameters = await askParameters(offer().network.caip2)
  const unsigned = build(requirement, parameters, payer)
  const signed = await untilCancelled(connected.sign(unsigned, payer))
  const header = headerOf(required, requirement, unsigned, signed)
  const { transactionId } = unsigned
  const payment = {
    header,
    transactionId,
    price: priceText(offer()),
    network: offer().network.name,
    signedMs: Date.now(),
  }
  // Before it is sent: from here on it may be taken.
  Kept.storePayment(payment)
  await settle(payment, () => chooseAccount(connected, payer))
}

/** What is asked now for what the person chose; it may be another fee payer, but not another price. */
async function freshRequirement(): Promise<{ required: Required; requirement: Requirement } | Response> {
  const now = await askAgain().catch(() => {
    throw new PaywallError('offline')
  })
  if (now instanceof Response) {
    if (now.ok) return now
    throw new PaywallError('unavailable')
  }
  const before = data.required.accepts[chosen]!
  const isSame = (one: Requirement): boolean =>
    one.scheme === 'exact' &&
    one.network === before.network &&
    one.asset === before.asset &&
    one.amount === before.amount &&
    one.payTo === before.payTo
  const requirement = now.accepts.find(isSame)
  if (requirement === undefined) throw new PaywallError('changed')
  return { required: now, requirement }
}

async function settle(payment: Kept.StoredPayment, back: () => void): Promise<void> {
  waiting('Settle', 'The seller has your payment. Waiting for the ledger…')
  window.addEventListener('beforeunload', warnOfLeaving)
  const outcome = await show(payment, (why) =>
    waiting(
      'Settle',
      why === 'offline' ? 'No answer yet. Showing the same payment again…' : 'Not settled yet. Waiting…',
    ),
  ).finally(() => window.removeEventListener('beforeunload', warnOfLeaving))
  await conclude(outcome, payment, back)
}

function warnOfLeaving(event: Event): void {
  event.preventDefault()
}

async function conclude(outcome: Outcome, payment: Kept.StoredPayment, back: () => void): Promise<void> {
  if (outcome.type === 'served') {
    Kept.forgetPayment()
    await served(outcome.response, payment, outcome.isProved)
  } else if (outcome.type === 'refused') {
    Kept.forgetPayment()
    back()
    showMessage(refusalMessage(outcome.code, outcome.message))
  } else if (outcome.type === 'used') {
    Kept.forgetPayment()
    offerAgain(payment, 'has been taken')
    const text = `It was settled and answered once, and the answer did not come here. The seller can look it up: ${payment.transactionId}`
    showMessage({ title: 'This payment was taken already', text })
  } else if (outcome.type === 'failed') {
    offerAgain(payment)
    const text = 'Nothing was charged. Showing the same payment again costs nothing more.'
    showMessage({ title: `The seller could not answer (status ${outcome.status})`, text })
  } else {
    offerAgain(payment)
    const title = outcome.why === 'pending' ? 'The payment is not settled yet' : 'The answer did not come'
    showMessage({ title, text: 'Your payment is kept. Showing the same one again never pays twice.' })
  }
}

/** A payment that was signed stands in the way of another one. */
function offerAgain(payment: Kept.StoredPayment, became = 'may be taken, now or later'): void {
  setChoosable(false)
  const again = button('Show the payment again', 'main', () =>
    busy(
      () => settle(payment, startOver),
      () => offerAgain(payment, became),
    ),
  )
  offerToDo(
    stepsAt('Settle'),
    again,
    button('Pay anew instead', 'link', () => payAnew(payment, became)),
  )
  again.focus()
}

async function payAnew({ price }: Kept.StoredPayment, became: string): Promise<void> {
  const text = `Your payment of ${price} ${became}. If you make another, you may pay twice.`
  const isWanted = await ask({ title: 'Pay a second time?', body: [h('p', {}, text)], yes: 'Pay again' })
  if (!isWanted) return
  Kept.forgetPayment()
  startOver()
}

/** Without a payment it was there for nothing. */
async function served(response: Response, payment?: Kept.StoredPayment, isProved = false): Promise<void> {
  const { element, save } = await shownAnswer(response)
  const rows = [
    ['Paid', payment === undefined ? 'nothing' : `${payment.price} on ${payment.network}`],
    ...(payment === undefined ? [] : [['Transaction', payment.transactionId]]),
  ] as [string, string][]
  offerToDo(receiptOf(rows))
  for (const name of ['facts', 'price-block', 'choice']) document.querySelector(`[data-${name}]`)?.remove()
  document.title = document.querySelector('h1')!.innerText
  const again = 'Opening this page again costs again: save what you want to keep.'
  if (response.status >= 400) {
    showMessage({
      title: `Paid, and the seller answered with status ${response.status}`,
      text: 'Ask the seller, with this transaction.',
    })
  } else if (payment === undefined) {
    showMessage({ title: 'Here it is.', text: 'The seller asks nothing for it now.' }, 'good')
  } else {
    const proof = isProved ? '' : 'The seller gave no receipt. '
    showMessage({ title: 'Paid. Here it is.', text: `${proof}${again}` }, 'good')
  }
  const section = place('answer')
  section.replaceChildren(...(save === undefined ? [] : [h('p', { class: 'bar' }, save)]), element)
  section.hidden = false
  document.body.classList.add('open')
  section.tabIndex = -1
  section.focus()
}

place('pay').textContent = ''
document.querySelector('[data-choice]')?.addEventListener('change', (event) => {
  chosen = Number((event.target as HTMLInputElement).value)
  showOffer(offer())
  startOver()
})
const unfinished = Kept.storedPayment()
if (unfinished === undefined) {
  chooseWallet()
} else {
  offerAgain(unfinished)
  const at = new Date(unfinished.signedMs).toLocaleTimeString()
  const text = `You signed a payment of ${unfinished.price} at ${at}, and its answer did not come. Showing the same payment again never pays twice.`
  showMessage({ title: 'A payment for this page is open', text }, 'open')
}
