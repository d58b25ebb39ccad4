/** A seller that is killed as soon as a payment is settled, before anything else is recorded or reported. */
import { SqliteClaims } from '../store/sqlite/SqliteClaims.js'
import { admitted, answer, ask, paymentFor, priced, stubGate } from '../stubs.test.helper.js'

const claims = new SqliteClaims(process.argv[2]!)
const world = await stubGate({ claims, onSettled: () => new Promise(() => {}) })
const { header, transactionId } = paymentFor(await priced(world), world.chain)
const admission = admitted(await world.gate.decide(ask('/a', header)))
await new Promise((resolve) => process.send!(transactionId, resolve))
await admission.settle(answer)
process.kill(process.pid, 'SIGKILL')
