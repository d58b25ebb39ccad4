import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noApps } from './Account.js'
import { appAddress } from './programs/AppRecords.js'
import { State } from './State.js'
import { StateOverlay } from './StateOverlay.js'
import { UndoLog } from './UndoLog.js'

test('undoes all writes since a mark, in nested marks too', () => {
  const log = new UndoLog()
  const map = new Map<string, number>()
  log.set(map, 'a', 1)
  const outer = log.mark(10n)
  log.set(map, 'a', 2)
  log.set(map, 'b', 1)
  const inner = log.mark(11n)
  log.set(map, 'a', 3)
  log.set(map, 'a', 4)
  log.set(map, 'c', 1)
  assert.equal(log.rollback(inner), 11n)
  assert.deepEqual(
    [...map],
    [
      ['a', 2],
      ['b', 1],
    ],
  )
  log.set(map, 'b', 7)
  assert.equal(log.rollback(outer), 10n)
  assert.deepEqual([...map], [['a', 1]])
})

const address = 'a'.repeat(32)
const application = {
  creator: address,
  approvalProgram: Uint8Array.of(10, 0x81, 1),
  clearStateProgram: Uint8Array.of(10, 0x81, 1),
  globalSchema: { integers: 1, byteStrings: 2 },
  localSchema: { integers: 3, byteStrings: 0 },
  extraPages: 1,
  version: 0n,
  sizeSponsor: undefined,
  allowsForeignBoxReads: false,
  allowsFamilyBoxAccess: false,
}

test('an overlay undoes changes of applications, local state, boxes and totals', () => {
  const overlay = new StateOverlay(new State(1000n))
  overlay.putApplication(7n, application)
  overlay.putGlobal(7n, 'k', 1n)
  overlay.putLocal(address, 7n, application.localSchema)
  const before = { account: overlay.account(address), count: overlay.transactionCount() }
  const mark = overlay.mark()
  overlay.putGlobal(7n, 'k', 2n)
  overlay.putGlobal(7n, 'new', Uint8Array.of(1))
  overlay.putLocalValue(address, 7n, 'x', 1n)
  overlay.putBox(7n, 'box', new Uint8Array(10))
  overlay.addInnerTransaction()
  overlay.putLocal(address, 7n, undefined)
  overlay.putApplication(7n, undefined)
  assert.deepEqual(overlay.account(appAddress(7n)).apps, { ...noApps, boxes: 1, boxBytes: 13 })
  overlay.rollback(mark)
  assert.deepEqual([...overlay.application(7n)!.globals.entries()], [['k', 1n]])
  assert.deepEqual(overlay.application(7n)!.globals.counts, { integers: 1, byteStrings: 0 })
  assert.equal(overlay.local(address, 7n)!.values.size, 0)
  assert.equal(overlay.box(7n, 'box'), undefined)
  assert.deepEqual({ account: overlay.account(address), count: overlay.transactionCount() }, before)
  assert.equal(overlay.accounts.has(appAddress(7n)), false)
})

test('a record that was committed is not changed by a later overlay', () => {
  const state = new State(0n)
  const first = new StateOverlay(state)
  first.putApplication(7n, application)
  first.putGlobal(7n, 'k', 1n)
  first.commit(state)
  const copy = state.copy()
  const second = new StateOverlay(state)
  second.putGlobal(7n, 'k', 2n)
  assert.equal(state.application(7n)!.globals.get('k'), 1n)
  second.commit(state)
  assert.equal(copy.applications.get(7n)!.globals.get('k'), 1n)
  assert.equal(state.application(7n)!.globals.get('k'), 2n)
})
