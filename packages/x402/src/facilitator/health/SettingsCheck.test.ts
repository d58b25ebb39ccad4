import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitsOf } from '../FacilitatorOptions.js'
import type { PolicyOptions } from '../limits/Policy.js'
import type { SettingDigests } from '../store/Settlement.js'
import { SettingsCheck, settingDifferences, settingDigests } from './SettingsCheck.js'

const digestsOf = (policy: PolicyOptions, feePayers = ['A', 'B']): SettingDigests =>
  settingDigests({ policy, limits: limitsOf({ chains: [] }), feePayers, networks: ['algorand:x'] })

test('names settings that differ, without their values', () => {
  const own = digestsOf({ payTo: ['S', 'T'], feeMicroAlgosPerDay: 5n, apiKeys: ['hunter2'] })
  const same = digestsOf({ payTo: ['T', 'S'], feeMicroAlgosPerDay: 5n, apiKeys: ['hunter2'] }, ['B', 'A'])
  assert.deepEqual(settingDifferences(own, [{ replica: 'same', settings: same }]), [], 'in whatever order')
  const other = digestsOf({ payTo: ['S'], requestsPerMinute: 9, apiKeys: ['hunter3'] }, ['A'])
  assert.deepEqual(settingDifferences(own, [{ replica: 'host 7', settings: other }]), [
    'the replica host 7 has different settings: apiKeys, feeMicroAlgosPerDay, feePayers, payTo, requestsPerMinute',
  ])
  assert.doesNotMatch(JSON.stringify(own), /hunter2|"S"/)
  assert.ok(own['apiKeys']!.length <= 4, 'too short to try keys against')
})

test('names a replica with a smaller quorum', () => {
  const of = (quorums?: string[]): SettingDigests =>
    settingDigests({ policy: {}, limits: limitsOf({ chains: [] }), feePayers: [], networks: ['algorand:x'], quorums })
  assert.deepEqual(settingDifferences(of(['algorand:x 2']), [{ replica: 'host 7', settings: of() }]), [
    'the replica host 7 has different settings: quorums',
  ])
})

test('compares every ten seconds, reports a difference once, and ignores a failing database', async () => {
  const state = { nowMs: 0, calls: 0, other: digestsOf({ payTo: ['S'] }), isAway: false }
  const errors: unknown[] = []
  const announce = async () => {
    state.calls++
    if (state.isAway) throw new Error('away')
    return [{ replica: 'host 7', settings: state.other }]
  }
  const check = new SettingsCheck(
    digestsOf({}),
    { announce },
    (error) => errors.push(error),
    () => state.nowMs,
  )
  assert.match((await check.warnings())[0]!, /host 7 has different settings: payTo/)
  await check.warnings()
  assert.deepEqual([state.calls, errors.length], [1, 1])
  state.nowMs = 10_000
  state.isAway = true
  assert.equal((await check.warnings()).length, 1)
  state.nowMs = 20_000
  state.isAway = false
  state.other = digestsOf({})
  assert.deepEqual([await check.warnings(), state.calls, errors.length], [[], 3, 1])
})
