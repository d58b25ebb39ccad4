/**
 * Cuts responses like those of a model at a random byte, by the client or the handler: every payment is finally
 * delivered, and none is used up for a partial response. LATCHKEY_RACE_ROUNDS sets the number of rounds,
 * LATCHKEY_RACE_SEED the seed.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Random } from './soakRandom.test.helper.js'
import { openMarket } from './support/market.test.helper.js'
import { plainShops, type Work } from './support/plainShops.test.helper.js'
import { type Buying, openStreams, stores } from './support/streams.test.helper.js'

const rounds = Number(process.env['LATCHKEY_RACE_ROUNDS'] ?? 18)
const seed = Number(process.env['LATCHKEY_RACE_SEED'] ?? 402)
const timeout = 60_000 + rounds * 2_000
const atOnce = 4
const cent = 10_000n
const market = await openMarket({ after })

type Answer = {
  readonly tokens: readonly string[]
  readonly text: string
  /** The token before which each run fails; later runs succeed. */
  readonly failures: readonly number[]
  /** The byte at which the client leaves; undefined if it does not. */
  readonly cutAfterBytes: number | undefined
  runs: number
}

function randomAnswer(random: Random): Answer {
  const tokens = Array.from(
    { length: random.between(1, 120) },
    (_, index) => `${index}:${'x'.repeat(random.between(0, 40))} `,
  )
  const text = tokens.join('')
  const isCut = random.chance(0.6)
  const failures =
    isCut && random.chance(0.7)
      ? []
      : Array.from({ length: random.between(1, 2) }, () => random.between(0, tokens.length - 1))
  return { tokens, text, failures, cutAfterBytes: isCut ? random.between(0, text.length) : undefined, runs: 0 }
}

async function* written({ tokens }: Answer, failure: number | undefined, random: Random): AsyncGenerator<string> {
  for (const [index, token] of tokens.entries()) {
    if (random.chance(0.1)) await random.pause(0, 3)
    if (index === failure) throw new Error('the model is broken')
    yield token
  }
}

test(`${rounds} streams with the seed ${seed}`, { timeout }, async (t) => {
  const random = new Random(seed)
  const answers: Answer[] = []
  const work: Work = ({ target }) => {
    const answer = answers[Number(new URL(target, 'http://localhost').searchParams.get('answer'))]!
    const failure = answer.failures[answer.runs++]
    return { body: written(answer, failure, new Random(seed + answer.runs)) }
  }
  const shops = await Promise.all(
    plainShops.flatMap((seller) =>
      stores.map(async ({ name, open }) => ({
        name: `${seller.name}, ${name}`,
        buy: await openStreams(t, { market, seller, claims: open(t), work }),
      })),
    ),
  )
  const before = await market.dollars()
  const play = async (index: number): Promise<void> => {
    const { name, buy } = shops[index % shops.length]!
    const method = random.pick(['GET', 'POST'])
    const answer = randomAnswer(random)
    answers[index] = answer
    const { failures, cutAfterBytes, text } = answer
    const about = `${index}: ${name}, ${method}, cut after ${cutAfterBytes} of ${text.length}, fails before ${failures}`
    const got = await receive(await buy(method, `?answer=${index}`), answer, about)
    assert.equal(got, text, about)
    assert.equal(answer.runs, failures.length + 1, about)
  }
  for (let first = 0; first < rounds; first += atOnce) {
    const indexes = Array.from({ length: Math.min(atOnce, rounds - first) }, (_, index) => first + index)
    await Promise.all(indexes.map(play))
  }
  assert.equal((await market.dollars()) - before, BigInt(rounds) * cent)
})

/** Resends the payment until a response is complete, and returns what it got. */
async function receive({ first, again }: Buying, { failures, cutAfterBytes }: Answer, about: string): Promise<string> {
  let answer = await first(cutAfterBytes)
  for (let repeats = 0; !answer.isWhole || answer.status >= 500; repeats++) {
    assert.ok(repeats <= failures.length + 1, `${about}: status ${answer.status}`)
    answer = await again()
  }
  assert.equal(answer.status, 200, about)
  return answer.body
}
