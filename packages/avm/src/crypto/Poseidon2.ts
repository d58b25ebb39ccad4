/** Poseidon2 of width 2 as a compression function, chained over the blocks. */
import { encodeInteger } from '../evaluator/Value.js'
import * as ScalarField from './ScalarField.js'

const fullRounds = 6
const partialRounds = 50

type State = readonly [bigint, bigint]

type Round = { readonly isFull: boolean; readonly constants: readonly bigint[] }

const schedules = new Map<ScalarField.Curve, readonly Round[]>()

/** Hashes elements of the scalar field. */
export function hash(curve: ScalarField.Curve, blocks: readonly bigint[]): Uint8Array {
  const order = ScalarField.orderOf(curve)
  let state = 0n
  for (const block of blocks) state = (block + permute(curve, [state, block])[1]) % order
  return encodeInteger(state, ScalarField.elementBytes)
}

function permute(curve: ScalarField.Curve, input: State): State {
  const order = ScalarField.orderOf(curve)
  let [a, b] = outer(input, order)
  for (const { isFull, constants } of scheduleOf(curve)) {
    a = ScalarField.fifthPower((a + constants[0]!) % order, order)
    if (isFull) {
      b = ScalarField.fifthPower((b + constants[1]!) % order, order)
      ;[a, b] = outer([a, b], order)
    } else {
      ;[a, b] = [(2n * a + b) % order, (a + 3n * b) % order]
    }
  }
  return [a, b]
}

function outer([a, b]: State, order: bigint): State {
  return [(2n * a + b) % order, (a + 2n * b) % order]
}

/** Half of the full rounds come before the partial rounds, half after. */
function scheduleOf(curve: ScalarField.Curve): readonly Round[] {
  const known = schedules.get(curve)
  if (known !== undefined) return known
  const seed = `Poseidon2-${curve}[t=2,rF=${fullRounds},rP=${partialRounds},d=5]`
  const constants = ScalarField.constantsOf(seed, 2 * fullRounds + partialRounds, curve)
  let used = 0
  const schedule = Array.from({ length: fullRounds + partialRounds }, (_, round) => {
    const isFull = round < fullRounds / 2 || round >= fullRounds / 2 + partialRounds
    const start = used
    used += isFull ? 2 : 1
    return { isFull, constants: constants.slice(start, used) }
  })
  schedules.set(curve, schedule)
  return schedule
}
