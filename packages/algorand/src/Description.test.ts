import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Description from './Description.js'
import { A, alice, B, bob, C, carol, describe, firstLine, hash, header, zero } from './Description.test.helper.js'
import * as Group from './Group.js'
import * as Network from './Network.js'
import type * as Transaction from './Transaction.js'

test('describes a payment in full', () => {
  assert.deepEqual(describe({ rcv: bob, amt: 1_500_000n }), {
    lines: [
      `Pays 1.5 ALGO to ${B}.`,
      `The sender is ${A}.`,
      'The fee is 0.001 ALGO.',
      'The network is TestNet.',
      'It is valid from round 1 to round 1,001.',
    ],
    warnings: [],
    finalWarnings: [],
  })
})

test('describes lease, note and group', () => {
  const { lines, warnings } = describe({
    rcv: bob,
    lx: new Uint8Array(32).fill(1),
    note: Buffer.from('hi'),
    grp: new Uint8Array(32).fill(2),
    fee: 0n,
  })
  assert.deepEqual(lines.slice(2), [
    'It pays no fee: another transaction of its group has to pay it.',
    'The network is TestNet.',
    'It is valid from round 1 to round 1,001.',
    'It holds lease AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=: no other transaction of the sender with this lease is confirmed before round 1001.',
    'Note: "hi".',
    'It is one of a group (AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=): signing it agrees to the whole group.',
  ])
  assert.deepEqual(warnings, [])
})

type Row = [name: string, members: Partial<Transaction.Transaction>, lines: string[]]

const kinds: Row[] = [
  ['the least and the most ALGO', { rcv: bob, amt: 2n ** 64n - 1n }, [`Pays 18,446,744,073,709.551615 ALGO to ${B}.`]],
  ['nothing', { rcv: bob }, [`Pays 0 ALGO to ${B}.`]],
  [
    'an asset transfer',
    { type: 'axfer', xaid: 7n, aamt: 12345n, arcv: bob },
    [`Sends 12,345 base units of asset 7 to ${B}.`],
  ],
  ['one base unit', { type: 'axfer', xaid: 7n, aamt: 1n, arcv: bob }, [`Sends 1 base unit of asset 7 to ${B}.`]],
  [
    'an opt-in',
    { type: 'axfer', xaid: 7n, arcv: alice },
    ['Opts in to asset 7: the account may then hold it, and must keep 0.1 ALGO more.'],
  ],
  [
    'an opt-out, which fails if the account holds some',
    { type: 'axfer', xaid: 7n, arcv: alice, aclose: alice },
    [
      'Opts out of asset 7: the account may then not hold it, and need not keep 0.1 ALGO for it. The network rejects this if the account still holds some.',
    ],
  ],
  [
    'a new asset',
    {
      type: 'acfg',
      apar: { t: 1_000_000n, dc: 2, un: 'GLD', an: 'Gold', au: 'https://x', df: true, m: alice, c: bob },
    },
    [
      'Creates an asset named "Gold": 10,000 "GLD" in total, 2 decimals.',
      'Its URL is "https://x".',
      'New holdings of it are frozen.',
      `The manager address is ${A}.`,
      `The clawback address is ${B}.`,
      'It has no reserve and freeze address, and can never have one.',
    ],
  ],
  [
    'a new asset with nothing in it',
    { type: 'acfg' },
    [
      'Creates an asset without a name: 0 in total, 0 decimals.',
      'It has no manager, reserve, freeze and clawback address, and can never have one.',
    ],
  ],
  [
    'all roles of an asset',
    { type: 'acfg', caid: 7n, apar: { m: alice, r: bob, f: carol, c: alice } },
    [
      'Changes the roles of asset 7.',
      `The manager address is ${A}.`,
      `The reserve address is ${B}.`,
      `The freeze address is ${C}.`,
      `The clawback address is ${A}.`,
    ],
  ],
  [
    'a freeze',
    { type: 'afrz', faid: 7n, fadd: bob, afrz: true },
    [`Freezes the holding of asset 7 of ${B}: it can then neither send nor receive it.`],
  ],
  [
    'an unfreeze',
    { type: 'afrz', faid: 7n, fadd: bob },
    [`Unfreezes the holding of asset 7 of ${B}: it can then send and receive it again.`],
  ],
  [
    'going online',
    { type: 'keyreg', votekey: bob, selkey: carol, votefst: 5n, votelst: 9n, votekd: 3n },
    ['Brings the account online: its participation keys vote from round 5 to round 9.'],
  ],
  ['going offline', { type: 'keyreg' }, ['Takes the account offline: it does not vote until it registers keys again.']],
  [
    'an application call',
    {
      type: 'appl',
      apid: 9n,
      apaa: [Uint8Array.of(1, 2, 3, 255), Uint8Array.of(5)],
      apat: [bob, carol],
      apas: [7n],
      apfa: [8n, 10n],
      apbx: [{ n: Uint8Array.of(1) }],
      aprv: 4n,
    },
    [
      'Calls application 9.',
      'It passes 2 arguments; the first one, 010203ff, names the method.',
      `It may access 2 other accounts: ${B} and ${C}.`,
      'It may use asset 7.',
      'It may call application 8 and application 10.',
      "It may use 1 of the application's boxes.",
      'It is rejected if the version of the application is 4 or higher.',
    ],
  ],
  [
    'an access list',
    { type: 'appl', apid: 9n, al: [{ d: bob }, { s: 7n }, { p: 8n }, { b: { n: Uint8Array.of(1) } }] },
    [
      'Calls application 9.',
      'It passes no arguments.',
      `It may access 1 other account: ${B}.`,
      'It may use asset 7.',
      'It may call application 8.',
      "It may use 1 of the application's boxes.",
    ],
  ],
  [
    'an application opt-in',
    { type: 'appl', apid: 9n, apan: 1n },
    [
      'Opts in to application 9: it may then store data in the account, which raises the minimum balance.',
      'It passes no arguments.',
    ],
  ],
  [
    'an application close-out',
    { type: 'appl', apid: 9n, apan: 2n },
    [
      'Closes out of application 9: its data in the account is removed, if the application approves.',
      'It passes no arguments.',
    ],
  ],
  [
    'a new application',
    { type: 'appl', apan: 1n, apap: Uint8Array.of(1, 2), apsu: Uint8Array.of(1), apgs: { nui: 3n } },
    [
      'Creates an application: approval program 2 bytes, clear program 1 byte.',
      'Its state has room for 3 integers and 0 byte strings, and for 0 integers and 0 byte strings in each account that opts in.',
      'The sender opts in to it immediately.',
      'It passes no arguments.',
    ],
  ],
  [
    'an application created for one call',
    { type: 'appl', apan: 5n, apap: Uint8Array.of(1), apsu: Uint8Array.of(1) },
    [
      'Creates an application: approval program 1 byte, clear program 1 byte.',
      'Its state has room for 0 integers and 0 byte strings, and for 0 integers and 0 byte strings in each account that opts in.',
      'It is deleted immediately afterwards.',
      'It passes no arguments.',
    ],
  ],
  [
    'a heartbeat',
    { type: 'hb', hb: { a: bob, kd: 1n } },
    [`A heartbeat: shows that the participation keys of ${B} are in use.`],
  ],
]

test('describes each type of transaction', async (t) => {
  for (const [name, members, expected] of kinds) {
    await t.test(name, () => {
      const { lines, warnings } = describe(members)
      assert.deepEqual(lines.slice(0, lines.indexOf(`The sender is ${A}.`)), expected)
      assert.deepEqual(warnings, [])
    })
  }
})

type Risk = [name: string, members: Partial<Transaction.Transaction>, warnings: string[], isFinal?: 'final']
const unknownEffect = 'Its effect is unknown: sign it only if you know from another source what it does.'

const risks: Risk[] = [
  [
    'rekey',
    { rcv: bob, rekey: carol },
    [
      `It rekeys ${A} to ${C}: the holder of that key then controls the account, and the current key can no longer sign for it.`,
    ],
    'final',
  ],
  [
    'rekey to itself',
    { rcv: bob, rekey: alice },
    [`It gives ${A} back to its own key: the key that signs for it now can no longer do so.`],
    'final',
  ],
  ['close', { close: bob }, [`It closes ${A}: the remaining ALGO goes to ${B}.`], 'final'],
  [
    'asset close-out',
    { type: 'axfer', xaid: 7n, arcv: bob, aclose: carol },
    [`It closes the holding of asset 7 of ${A}: the remaining balance goes to ${C}.`],
    'final',
  ],
  [
    'clawback',
    { type: 'axfer', xaid: 7n, aamt: 5n, asnd: bob, arcv: carol },
    [`It takes 5 base units of asset 7 from another account, ${B}, by clawback.`],
    'final',
  ],
  ['high fee', { rcv: bob, fee: 100_001n }, ['The fee of 0.100001 ALGO is far above the usual 0.001 ALGO.'], 'final'],
  [
    'ALGO to the zero address',
    { amt: 1n },
    ['The receiver is the zero address, which has no key: the amount is lost.'],
    'final',
  ],
  [
    'an asset to the zero address',
    { type: 'axfer', xaid: 7n, aamt: 1n },
    ['The receiver is the zero address, which has no key: the amount is lost.'],
    'final',
  ],
  [
    'one role given up',
    { type: 'acfg', caid: 7n, apar: { m: alice, r: bob, f: carol } },
    ['It gives up the clawback role of asset 7: an empty role cannot be assigned again.'],
    'final',
  ],
  [
    'the manager given up',
    { type: 'acfg', caid: 7n, apar: { r: bob } },
    [
      'It gives up the manager, freeze and clawback roles of asset 7: an empty role cannot be assigned again. The asset cannot be changed afterwards.',
    ],
    'final',
  ],
  ['asset destroyed', { type: 'acfg', caid: 7n }, ['It destroys asset 7: this cannot be undone.'], 'final'],
  [
    'non-participation',
    { type: 'keyreg', nonpart: true },
    [`It marks ${A} as non-participating permanently: no later transaction can undo that.`],
    'final',
  ],
  [
    'application deleted',
    { type: 'appl', apid: 9n, apan: 5n },
    ['It deletes application 9: what its account still holds may be lost permanently.'],
    'final',
  ],
  ['unknown action', { type: 'appl', apid: 9n, apan: 6n }, [unknownEffect], 'final'],
  ['unknown type', { type: 'zap' }, [unknownEffect], 'final'],
  ['a type that objects inherit', { type: 'valueOf' }, [unknownEffect], 'final'],
  [
    'application updated',
    { type: 'appl', apid: 9n, apan: 4n, apap: Uint8Array.of(1) },
    ['It updates application 9: every later call runs the new program.'],
  ],
  [
    'application cleared',
    { type: 'appl', apid: 9n, apan: 3n },
    ['The data of application 9 in the account is lost, and what the application owes the account may be lost too.'],
  ],
  [
    'application created and more',
    { type: 'appl', apan: 4n },
    ['It creates an application and performs another action on it immediately, which is unusual.'],
  ],
  ['paying oneself', { rcv: alice, amt: 1n }, ['Sender and receiver are the same account.']],
  ['a state proof', { type: 'stpf' }, ['No account signs a state proof: a signature on it has no effect.']],
  ['MainNet', { rcv: bob, gh: hash(Network.mainnet), gen: 'mainnet-v1.0' }, ['This is MainNet: it moves real money.']],
  [
    'a network by the wrong name',
    { rcv: bob, gen: 'betanet-v1.0' },
    ['It names its network "betanet-v1.0", but its genesis hash is that of TestNet: the network would reject it.'],
  ],
  [
    'no genesis hash',
    { rcv: bob, gh: undefined },
    ['Without a genesis hash it may be valid on more than one network.'],
  ],
  ['no last round', { rcv: bob, lv: 0n }, ['It has no last round: it is never valid.']],
  ['rounds backwards', { rcv: bob, fv: 9n, lv: 8n }, ['Its last round comes before its first: it is never valid.']],
  ['hours', { rcv: bob, lv: 10_001n }, ['It stays valid for 10,000 rounds, about 7 hours: unusually long.']],
  ['days', { rcv: bob, lv: 100_001n }, ['It stays valid for 100,000 rounds, about 3 days: unusually long.']],
  [
    'years',
    { rcv: bob, lv: 2n ** 64n - 1n },
    ['It stays valid for 18,446,744,073,709,551,614 rounds, more than a year: unusually long.'],
  ],
  [
    'fields of another type',
    { rcv: bob, aclose: carol, nonpart: true },
    ['It has fields that do not belong to its type (aclose and nonpart): the network would reject it.'],
  ],
]

test('warns of each risk', async (t) => {
  for (const [name, members, expected, isFinal] of risks) {
    await t.test(name, () => {
      const { warnings, finalWarnings } = describe(members)
      assert.deepEqual(warnings, expected)
      assert.deepEqual(finalWarnings, isFinal === 'final' ? expected : [])
    })
  }
})

test('a rekey and a close also appear among the lines', () => {
  const { lines } = describe({ close: bob, rekey: carol })
  assert.equal(lines[0], `Closes the account: the remaining balance goes to ${B}.`)
  assert.ok(lines.includes(`Afterwards ${C} signs for the sender.`))
  assert.equal(
    firstLine({ type: 'axfer', xaid: 7n, aclose: bob }),
    `Closes the holding of asset 7: the remaining balance goes to ${B}.`,
  )
  assert.equal(describe({ amt: 5n, rcv: carol, close: bob }).lines.length, lines.length)
})

test('explains the high fee of an account that goes online', () => {
  const { lines } = describe({ type: 'keyreg', votekey: bob, selkey: bob, fee: 2_000_000n })
  assert.ok(lines.includes('A fee of 2 ALGO or more makes it eligible for block rewards.'))
})

test('warnings of irreversible effects come first', () => {
  const { warnings } = describe({ rcv: alice, rekey: bob, gh: hash(Network.mainnet), gen: undefined })
  assert.match(warnings[0]!, /^It rekeys /)
  assert.deepEqual(warnings.slice(1), [
    'Sender and receiver are the same account.',
    'This is MainNet: it moves real money.',
  ])
})

test('names the zero address as such', () => {
  assert.equal(firstLine({}), `Pays 0 ALGO to the zero address, ${zero}.`)
})

test('names local networks by id and hash', () => {
  const { lines, warnings } = describe({ rcv: bob, gen: 'dockernet-v1', gh: new Uint8Array(32).fill(7) })
  assert.ok(
    lines.includes(
      'The network is a local or private one, "dockernet-v1", with genesis hash BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=.',
    ),
  )
  assert.deepEqual(warnings, [])
})

test('USDC of a public network is known and cannot be renamed', () => {
  const usdc = { type: 'axfer', xaid: 10458941n, aamt: 10_000n, arcv: bob }
  assert.equal(firstLine(usdc), `Sends 0.01 USDC (asset 10458941) to ${B}.`)
  const assets = new Map([[10458941n, { decimals: 0, unitName: 'FAKE' }]])
  assert.equal(firstLine(usdc, { assets }), `Sends 0.01 USDC (asset 10458941) to ${B}.`)
  assert.equal(firstLine({ ...usdc, gh: hash(Network.mainnet) }), `Sends 10,000 base units of asset 10458941 to ${B}.`)
})

test('uses the units given, and quotes those that are not one plain word', () => {
  const axfer = { type: 'axfer', xaid: 7n, aamt: 1234n, arcv: bob }
  const unit = (unitName: string, decimals = 2): string =>
    firstLine(axfer, { assets: new Map([[7n, { decimals, unitName }]]) })
  assert.equal(unit('GLD'), `Sends 12.34 GLD (asset 7) to ${B}.`)
  assert.equal(unit('GLD', 0), `Sends 1,234 GLD (asset 7) to ${B}.`)
  assert.equal(unit('GLD', 6), `Sends 0.001234 GLD (asset 7) to ${B}.`)
  assert.equal(unit('to X "\n'), `Sends 12.34 "to X \\"\\n" (asset 7) to ${B}.`)
  for (const decimals of [20, -1, 1.5])
    assert.equal(unit('GLD', decimals), `Sends 1,234 base units of asset 7 to ${B}.`)
})

test('warns of an asset that imitates a known name, on public networks', () => {
  const axfer = { type: 'axfer', xaid: 7n, aamt: 1n, arcv: bob }
  const assets = new Map([[7n, { decimals: 6, unitName: 'usdc' }]])
  assert.deepEqual(describe(axfer, { assets }).warnings, [
    'Asset 7 is named "usdc", but is not the asset known by that name: only the id identifies it.',
  ])
  assert.deepEqual(describe({ ...axfer, gh: new Uint8Array(32).fill(7) }, { assets }).warnings, [])
})

test('describes transactions that are signed together', async (t) => {
  const one = { ...header, type: 'pay', rcv: bob }
  const two = { ...header, type: 'pay', rcv: carol }
  const other = { ...two, gh: hash(Network.mainnet), gen: undefined }
  const missing =
    'This is not the complete group, or not in its order: signing agrees to transactions that are not shown here.'
  const whole = Group.assign([one, two])

  await t.test('a complete group has no warnings', () => {
    assert.deepEqual(Description.describeGroup(whole), [])
    assert.deepEqual(Description.describeGroup([one]), [])
    assert.deepEqual(Description.describeGroup(Group.assign([one])), [])
    assert.deepEqual(Description.describeGroup([]), [])
  })
  await t.test('warns of missing and reordered members', () => {
    assert.deepEqual(Description.describeGroup([whole[0]!]), [missing])
    assert.deepEqual(Description.describeGroup(whole.toReversed()), [missing])
    assert.deepEqual(Description.describeGroup([whole[0]!, { ...whole[1]!, amt: 1n }]), [missing])
  })
  await t.test('warns of transactions without a common group', () => {
    assert.deepEqual(Description.describeGroup([one, two]), [
      'These transactions are not a group: each can be confirmed without the others.',
    ])
    assert.deepEqual(Description.describeGroup([whole[0]!, two]), [
      'Some of these transactions belong to a group, others do not.',
      missing,
    ])
    assert.deepEqual(Description.describeGroup([whole[0]!, ...Group.assign([one])]), [
      'These transactions belong to different groups.',
      missing,
    ])
  })
  await t.test('warns of different networks', () => {
    assert.deepEqual(Description.describeGroup(Group.assign([one, other])), [
      'These transactions are for different networks.',
    ])
  })
})
