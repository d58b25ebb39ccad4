/** Tests payments of `latchkey mcp` that need the owner: who decides, who waits, and what is then paid. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Approval } from '@latchkey/kmd-client'
import type { CallToolResult, Client, ClientOptions, ElicitResult } from '@modelcontextprotocol/client'
import { sleep, until } from '../process/commands.test.helper.js'
import { cent, data, dollar, errorOf, type Fetched, summary, WalletStack } from './walletStack.test.helper.js'

const timeout = 120_000
const eras: { readonly [era: string]: ClientOptions } = {
  legacy: {},
  modern: { versionNegotiation: { mode: 'auto' } },
}

suite('approvals of latchkey mcp', { timeout: 600_000 }, () => {
  const steps: (() => unknown)[] = []
  const scope = { after: (work: () => unknown) => void steps.unshift(work) }
  let stack: WalletStack
  let tokenFile: string
  let plain: Client

  before(async () => {
    stack = await WalletStack.start(scope)
    const above = [{ network: stack.network, assetId: dollar, amount: cent }]
    tokenFile = (await stack.newAgent({ ask: { above } })).tokenFile
    plain = await stack.connect(scope, tokenFile)
  })
  after(async () => {
    for (const step of steps) await step()
  })

  const paidFetch = (client: Client, url: string, max = '$0.50'): Promise<CallToolResult> =>
    client.callTool({ name: 'paid_fetch', arguments: { url, max } })
  const waitFor = async (client: Client, id: string, seconds = 10) =>
    data(await client.callTool({ name: 'wait_for_approval', arguments: { approval_id: id, wait_seconds: seconds } }))
  const openApproval = (url: string): Promise<Approval> =>
    until('the approval', async () => {
      const { approvals } = await stack.kmd.approvals.list()
      return approvals.find(({ claimedUrl }) => claimedUrl === url)
    })

  type Answer = () => ElicitResult
  type AskingClient = { readonly client: Client; answer: Answer; messages: string[] }
  const clients = new Map<string, Promise<AskingClient>>()

  /** Returns the client of an era, whose user now answers this. Each starts a server, so tests share them. */
  async function asking(answer: Answer, era: string): Promise<{ client: Client; messages: string[] }> {
    const connected = clients.get(era) ?? connectAsking(era)
    clients.set(era, connected)
    const asked = await connected
    asked.answer = answer
    asked.messages = []
    return { client: asked.client, messages: asked.messages }
  }

  async function connectAsking(era: string): Promise<AskingClient> {
    const client = await stack.connect(scope, tokenFile, {
      ...{ ...eras[era], capabilities: { elicitation: { form: {} } } },
      prepare: (one) =>
        one.setRequestHandler('elicitation/create', ({ params }) => {
          asked.messages.push(params.message)
          return asked.answer()
        }),
    })
    const asked: AskingClient = { client, answer: () => ({ action: 'cancel' }), messages: [] }
    return asked
  }

  test('without elicitation the id is returned, and exactly the approved payment is made', {
    timeout,
  }, async () => {
    const url = stack.sells('/approved', 'worth it', { amount: 2n * cent, description: 'A report' })
    const earned = await stack.earned()
    const asked = data(await paidFetch(plain, url)) as Fetched
    assert.deepEqual([asked.outcome, asked.paid], ['approval_required', null])
    const id = asked.approval_id!
    const { transactionId, claimedDescription } = await openApproval(url)
    assert.equal(claimedDescription, 'A report')
    // A repeated call is still the same payment.
    assert.equal((data(await paidFetch(plain, url)) as Fetched).approval_id, id)
    assert.equal((await waitFor(plain, id, 0))['state'], 'open')
    assert.equal((await stack.kmd.approvals.list()).approvals.length, 1)
    assert.equal(await stack.earned(), earned)
    await stack.kmd.approvals.approve({ id })
    const decided = await waitFor(plain, id)
    assert.ok(['approved', 'used'].includes(String(decided['state'])), JSON.stringify(decided))
    const fetched = data(await paidFetch(plain, url)) as Fetched
    assert.deepEqual([fetched.outcome, fetched.untrusted.text], ['fetched', 'worth it'])
    assert.equal(fetched.paid.transaction_id, transactionId)
    assert.equal(await stack.earned(), earned + 2n * cent)
  })

  test('a denied payment is not made, and the same call does not ask again', { timeout }, async () => {
    const url = stack.sells('/denied', 'no', { amount: 2n * cent })
    const earned = await stack.earned()
    const { approval_id: id } = data(await paidFetch(plain, url)) as Fetched
    await stack.kmd.approvals.deny({ id: id! })
    assert.equal((await waitFor(plain, id!))['state'], 'denied')
    const denied = await paidFetch(plain, url)
    assert.equal(errorOf(denied)?.['code'], 'agent_approval_denied', summary(denied))
    assert.equal(await stack.earned(), earned)
    assert.deepEqual((await stack.kmd.approvals.list()).approvals, [])
  })

  for (const era of Object.keys(eras)) {
    test(`with elicitation the user is informed, and only the owner approves (${era})`, { timeout }, async () => {
      const url = stack.sells(`/elicited-${era}`, 'worth it', { amount: 2n * cent })
      const earned = await stack.earned()
      const { client, messages } = await asking(() => ({ action: 'accept', content: { continue: true } }), era)
      assert.equal(client.getProtocolEra(), era)
      const pending = paidFetch(client, url)
      await until('the question', () => messages.length > 0)
      const { id } = await openApproval(url)
      // The user's answer has arrived, and is not an approval.
      await sleep(300)
      assert.equal((await openApproval(url)).state, 'open')
      assert.equal(await stack.earned(), earned)
      await stack.kmd.approvals.approve({ id })
      const result = await pending
      assert.equal(errorOf(result), undefined, summary(result))
      assert.equal((data(result) as Fetched).untrusted.text, 'worth it')
      assert.equal(messages.length, 1)
      assert.match(
        messages[0]!,
        /latchkey approvals approve \S+\. Then continue here\. Your answer here approves nothing/,
      )
      assert.equal(await stack.earned(), earned + 2n * cent)
    })

    test(`a user who declines ends the request, and a later approval pays nothing (${era})`, {
      timeout,
    }, async () => {
      const url = stack.sells(`/declined-${era}`, 'no', { amount: 2n * cent })
      const earned = await stack.earned()
      const { client } = await asking(() => ({ action: 'decline' }), era)
      assert.equal(errorOf(await paidFetch(client, url))?.['code'], 'declined')
      const { id } = await openApproval(url)
      // Approved too late: the request has ended, and so has its payment.
      await stack.kmd.approvals.approve({ id })
      assert.equal(await stack.earned(), earned)
    })

    test(`a price above the maximum is shown to the user, who pays exactly that (${era})`, { timeout }, async () => {
      const url = stack.sells(`/price-${era}`, 'bought', { amount: cent })
      const earned = await stack.earned()
      const { client, messages } = await asking(() => ({ action: 'accept', content: { continue: true } }), era)
      const result = await paidFetch(client, url, '$0.001')
      assert.equal((data(result) as Fetched).untrusted.text, 'bought', summary(result))
      assert.match(messages[0]!, /the price is \$0\.01, above the max of \$0\.001\. Pay \$0\.01 to [A-Z2-7]{58}\?/)
      assert.equal(await stack.earned(), earned + cent)
      // A price that rises between question and payment is not the one that the user agreed to.
      const rising = stack.sells(`/rising-${era}`, 'bought', { amount: cent })
      const { client: other } = await asking(() => {
        stack.sells(`/rising-${era}`, 'bought', { amount: cent + 1n })
        return { action: 'accept', content: { continue: true } }
      }, era)
      assert.equal(errorOf(await paidFetch(other, rising, '$0.001'))?.['code'], 'price_changed')
      const { client: declining } = await asking(() => ({ action: 'cancel' }), era)
      assert.equal(errorOf(await paidFetch(declining, rising, '$0.001'))?.['code'], 'declined')
      assert.equal(await stack.earned(), earned + cent)
    })
  }
})
