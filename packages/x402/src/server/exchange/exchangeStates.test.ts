/** The states of a paid request: the table in the documentation, and the claim that a killed gate leaves behind. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { PaymentHeaders, PaymentSecret } from '@latchkey/x402-wire'
import { type ClaimStore, MemoryClaims } from '../store/Claims.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  priced,
  requiredIn,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'
import type { Decision } from './Admission.js'
import { transitions } from './transitions.js'

const root = new URL('../../../../../', import.meta.url)
const source = readFileSync(new URL('packages/x402/src/server/exchange/PaidExchange.ts', root), 'utf8')

/** The rows of a table in the documentation, as lists of cells. */
function tableAfter(heading: string): string[][] {
  const text = readFileSync(new URL('docs/architecture.md', root), 'utf8')
  const rows = text.slice(text.indexOf(heading)).split('\n')
  const start = rows.findIndex((row) => row.startsWith('|---'))
  const end = rows.findIndex((row, index) => index > start && !row.startsWith('|'))
  return rows.slice(start + 1, end).map((row) => row.split('|').map((cell) => cell.trim()))
}

test('the documentation lists the states and transitions', () => {
  const documented = tableAfter('### States of a paid request').map(([, state, , , , functions]) => {
    const steps = functions!.split(' · ').filter((step) => step !== '')
    const entries = steps.map((step): [string, string[]] => {
      const [name, next] = step.split(': ')
      return [name!.replaceAll('`', ''), next!.split(', ')]
    })
    return [state!.replaceAll('`', ''), Object.fromEntries(entries)] as const
  })
  assert.deepEqual(Object.fromEntries(documented), transitions)
})

test('each transition is one function, and each state can be reached and left as the table says', () => {
  const functions = new Set(Object.values(transitions).flatMap((steps) => Object.keys(steps)))
  const documented = tableAfter('The functions have the same names').map(([, name]) => name!.replaceAll('`', ''))
  assert.deepEqual([...functions].sort(), documented.sort())
  for (const name of functions) assert.match(source, new RegExp(`^  async #${name}\\(`, 'm'))
  const reached = new Set(Object.values(transitions).flatMap((steps) => Object.values(steps).flat()))
  assert.deepEqual([...reached, 'offered'].sort(), Object.keys(transitions).sort())
})

type Method = 'GET' | 'POST'
type Step = 'has' | 'verify' | 'claim' | 'begin' | 'hold' | 'settle' | 'finish'
/** Where the first gate is killed: before or after it writes, or while its handler runs. */
type Kill = `${'before' | 'after'} ${Step}` | 'in handler' | 'never'

const never = new Promise<never>(() => {})

/** Two gates that share claims and a ledger. The first one is killed. */
async function killed(method: Method, kill: Kill) {
  const [claims, ledger, honest] = [new MemoryClaims(), newLedger(), stubFacilitator(newLedger())]
  let onStop = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    onStop = resolve
  })
  let isStopped = false
  const stop = (): Promise<never> => {
    isStopped = true
    onStop()
    return never
  }
  let settlements = 0
  const { settle } = stubFacilitator(ledger)
  const counted: typeof settle = (...call) => {
    settlements++
    return settle(...call)
  }
  const stopping = <Call extends unknown[], T>(step: Step, work: (...call: Call) => T) => {
    return async (...call: Call): Promise<Awaited<T>> => {
      if (isStopped || kill === `before ${step}`) return stop()
      const result = await work(...call)
      return kill === `after ${step}` ? stop() : result
    }
  }
  const view: ClaimStore = {
    id: claims.id,
    has: stopping('has', (...call: Parameters<ClaimStore['has']>) => claims.has(...call)),
    claim: stopping('claim', (...call: Parameters<ClaimStore['claim']>) => claims.claim(...call)),
    hold: stopping('hold', (...call: Parameters<MemoryClaims['hold']>) => claims.hold(...call)),
    finish: stopping('finish', (...call: Parameters<MemoryClaims['finish']>) => claims.finish(...call)),
    renewals: { ...claims.renewals, begin: stopping('begin', claims.renewals.begin) },
    close: () => {},
  }
  const routes = { '/a': { accepts: price } }
  const first = await stubGate(
    {
      routes,
      claims: view,
      facilitators: { ...honest, verify: stopping('verify', honest.verify), settle: stopping('settle', counted) },
    },
    ledger,
  )
  const second = await stubGate({ routes, claims, facilitators: { ...honest, settle: counted } }, ledger)
  const required = requiredIn(responseOf(await second.gate.decide(ask('/a', undefined, { method }))))
  const { payload } = paymentFor(required, first.chain)
  const { secret } = PaymentSecret.create()
  const declared = PaymentSecret.reveal({ ...payload, extensions: required.extensions! }, secret)
  const header = PaymentHeaders.encode(declared)
  const request = (): Request => ask('/a', header, { method })
  const serve = async (): Promise<void> => {
    const decision = await first.gate.decide(request())
    assert.equal(decision.type, 'paid')
    if (kill === 'in handler') return stop()
    if (decision.type === 'paid') await decision.admission.settle(answer)
  }
  void serve().then(onStop)
  await stopped
  return { repeat: () => second.gate.decide(request()), ledger, settlements: () => settlements }
}

/** `runs` if the handler runs; otherwise the body or the code of the response. */
async function outcomeOf(decision: Decision): Promise<string> {
  if (decision.type === 'paid') {
    const result = await decision.admission.settle(answer)
    return 'headers' in result ? 'runs' : `${result.response.status}`
  }
  const text = await responseOf(decision).text()
  return text.startsWith('{') ? String((JSON.parse(text) as { error: string }).error) : text
}

/** The state in which the gate is killed, where that is, and what the buyer gets after the lease. */
const cases: readonly [state: keyof typeof transitions, Method, Kill, outcome: string][] = [
  ['offered', 'GET', 'before verify', 'runs'],
  ['offered', 'POST', 'before claim', 'runs'],
  ['verified', 'GET', 'before claim', 'runs'],
  ['claimed', 'GET', 'after claim', 'runs'],
  ['claimed', 'POST', 'after claim', 'runs'],
  ['running', 'GET', 'in handler', 'runs'],
  ['running', 'POST', 'after begin', 'response_lost'],
  ['running', 'POST', 'in handler', 'response_lost'],
  ['running', 'GET', 'before hold', 'runs'],
  ['running', 'POST', 'before hold', 'response_lost'],
  ['answered', 'GET', 'after hold', 'goods'],
  ['answered', 'POST', 'after hold', 'goods'],
  ['settling', 'GET', 'before settle', 'goods'],
  ['settling', 'POST', 'before settle', 'runs'],
  ['settling', 'GET', 'after settle', 'goods'],
  ['settling', 'POST', 'after settle', 'runs'],
  ['settled', 'GET', 'before finish', 'goods'],
  ['settled', 'POST', 'before begin', 'runs'],
  ['answered', 'POST', 'before finish', 'goods'],
  ['delivered', 'GET', 'after finish', 'goods'],
  ['delivered', 'POST', 'after finish', 'goods'],
]

for (const [state, method, kill, outcome] of cases) {
  test(`${method}: a gate killed ${kill}, ${state}, leaves the payment to the next: ${outcome}`, async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const world = await killed(method, kill)
    t.mock.timers.tick(31_000)
    assert.equal(await outcomeOf(await world.repeat()), outcome)
    assert.equal(world.ledger.transactions.size, 1, 'charged once')
    // The same buyer gets the same answer again, and nothing runs again.
    const again = outcome === 'runs' ? 'goods' : outcome
    assert.equal(await outcomeOf(await world.repeat()), again)
    assert.equal(world.ledger.transactions.size, 1)
  })
}

test('before the end of its lease, the claim of a killed gate runs no handler', async () => {
  for (const [, method, kill] of cases) {
    const world = await killed(method, kill)
    const outcome = await outcomeOf(await world.repeat())
    const isWritten = !['before verify', 'before claim'].includes(kill)
    assert.notEqual(outcome, isWritten ? 'runs' : 'settlement_pending', `${method} ${kill}`)
  }
})

test('a client that leaves opens nothing before its payment is claimed, and no second request while its handler runs', async () => {
  const claims = new MemoryClaims()
  const world = await stubGate({ claims })
  const { header } = paymentFor(await priced(world), world.chain)
  const left = responseOf(await world.gate.decide(ask('/a', header, { signal: AbortSignal.abort() })))
  assert.deepEqual([left.status, claims.size], [402, 0])
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  await admission.undelivered()
  assert.equal(responseOf(await world.gate.decide(ask('/a', header))).status, 503)
  assert.ok('headers' in (await admission.settle(answer)))
  await admission.undelivered()
  await admission.undelivered()
  assert.equal(await responseOf(await world.gate.decide(ask('/a', header))).text(), 'goods')
})

test('of simultaneous requests with one payment, one runs and one is charged', async () => {
  for (const method of ['GET', 'POST'] as const) {
    const world = await stubGate({ routes: { '/a': { accepts: price } } })
    const required = requiredIn(responseOf(await world.gate.decide(ask('/a', undefined, { method }))))
    const { header } = paymentFor(required, world.chain)
    const send = () => world.gate.decide(ask('/a', header, { method }))
    const decisions = await Promise.all(Array.from({ length: 8 }, send))
    const [admission, ...others] = decisions.flatMap((one) => (one.type === 'paid' ? [one.admission] : []))
    assert.equal(others.length, 0)
    const results = await Promise.all([admission!.settle(answer), admission!.settle(answer), admission!.cancel()])
    assert.ok('headers' in results[0])
    assert.ok('response' in results[1] && results[1].response.status === 504)
    assert.equal(responseOf(await send()).status, 402)
  }
})

test('the request is read once: a price function that changes its headers changes no buyer', async () => {
  const accepts = {
    ...price,
    price: ({ headers }: Request) => {
      headers.delete('Authorization')
      headers.delete('Cookie')
      return '$0.01'
    },
  }
  const world = await stubGate({ routes: { 'POST /a': { accepts } } })
  const post = (authorization: string, payment?: string) =>
    world.gate.decide(ask('/a', payment, { method: 'POST', headers: { Authorization: authorization } }))
  const { header } = paymentFor(requiredIn(responseOf(await post('buyer'))), world.chain)
  await admitted(await post('buyer', header)).cancel()
  assert.equal(requiredIn(responseOf(await post('thief', header))).error, 'payment_already_used')
  assert.ok('headers' in (await admitted(await post('buyer', header)).settle(answer)))
})

test('a warning hook that throws leaves no claim behind', async () => {
  const [claims, ledger] = [new MemoryClaims(), newLedger()]
  const facilitators = stubFacilitator(ledger, {
    settle: async (_, { network }) => ({
      success: false,
      errorReason: 'payment_already_claimed',
      transaction: '',
      network,
    }),
  })
  let warnings = 0
  const onWarning = (): void => {
    warnings++
    throw new Error('the logger is down')
  }
  const world = await stubGate({ claims, facilitators, onWarning }, ledger)
  const { header } = paymentFor(await priced(world), world.chain)
  const result = await admitted(await world.gate.decide(ask('/a', header))).settle(answer)
  assert.ok('response' in result && result.response.status === 402)
  assert.deepEqual([warnings, claims.size], [1, 0])
})
