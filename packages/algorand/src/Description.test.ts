import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import * as Address from './Address.js'
import * as Description from './Description.js'
import * as Ed25519 from './Ed25519.js'
import { anyTransaction, typedTransaction } from './fuzz.test.helper.js'
import * as Group from './Group.js'
import * as Network from './Network.js'
import * as Transaction from './Transaction.js'

const [alice, bob, carol] = [1, 2, 3].map((fill) => Ed25519.publicKey(new Uint8Array(32).fill(fill))) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const [A, B, C] = [alice, bob, carol].map(Address.encode) as [string, string, string]
const zero = Address.encode(new Uint8Array(32))
const hash = (network: Network.Network): Uint8Array => new Uint8Array(Buffer.from(network.genesisHash, 'base64'))
const header = { snd: alice, fee: 1000n, fv: 1n, lv: 1001n, gen: 'testnet-v1.0', gh: hash(Network.testnet) }

/** Through the wire, as everything arrives. */
function tell(members: Partial<Transaction.Transaction>, options?: Description.Options): Description.Description {
  const given = { ...header, type: 'pay', ...members } as Transaction.Transaction
  return Description.describe(Transaction.decode(Transaction.encode(given)), options)
}

const firstWords = (members: Partial<Transaction.Transaction>, options?: Description.Options): string =>
  tell(members, options).words[0]!

test('a payment, told in full', () => {
  assert.deepEqual(tell({ rcv: bob, amt: 1_500_000n }), {
    words: [
      `Pays 1.5 ALGO to ${B}.`,
      `The sender is ${A}.`,
      'The fee is 0.001 ALGO.',
      'The network is TestNet.',
      'It is valid from round 1 to round 1001.',
    ],
    warnings: [],
    finalWarnings: [],
  })
})

test('lease, note and group are told', () => {
  const { words, warnings } = tell({
    rcv: bob,
    lx: new Uint8Array(32).fill(1),
    note: Buffer.from('hi'),
    grp: new Uint8Array(32).fill(2),
    fee: 0n,
  })
  assert.deepEqual(words.slice(2), [
    'It pays no fee: another of its group has to pay for it.',
    'The network is TestNet.',
    'It is valid from round 1 to round 1001.',
    'It holds lease AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=: no other transaction of the sender with it goes through until round 1001.',
    'Note: "hi".',
    'It is one of a group (AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=): signing it agrees to all of the group.',
  ])
  assert.deepEqual(warnings, [])
})

type Row = [name: string, members: Partial<Transaction.Transaction>, words: string[]]

const kinds: Row[] = [
  ['the least and the most ALGO', { rcv: bob, amt: 2n ** 64n - 1n }, [`Pays 18446744073709.551615 ALGO to ${B}.`]],
  ['nothing', { rcv: bob }, [`Pays 0 ALGO to ${B}.`]],
  [
    'an asset transfer',
    { type: 'axfer', xaid: 7n, aamt: 12345n, arcv: bob },
    [`Sends 12345 base units of asset 7 to ${B}.`],
  ],
  ['one base unit', { type: 'axfer', xaid: 7n, aamt: 1n, arcv: bob }, [`Sends 1 base unit of asset 7 to ${B}.`]],
  [
    'an opt-in',
    { type: 'axfer', xaid: 7n, arcv: alice },
    ['Opts in to asset 7: the account may then hold it, and must keep 0.1 ALGO more.'],
  ],
  [
    'a new asset',
    {
      type: 'acfg',
      apar: { t: 1_000_000n, dc: 2, un: 'GLD', an: 'Gold', au: 'https://x', df: true, m: alice, c: bob },
    },
    [
      'Creates an asset named "Gold": 10000 "GLD" in all, 2 decimals.',
      'It points to "https://x".',
      'Every holding of it begins frozen.',
      `The manager address is ${A}.`,
      `The clawback address is ${B}.`,
      'It has no reserve and freeze address, and can never have one.',
    ],
  ],
  [
    'a new asset with nothing in it',
    { type: 'acfg' },
    [
      'Creates an asset without a name: 0 in all, 0 decimals.',
      'It has no manager, reserve, freeze and clawback address, and can never have one.',
    ],
  ],
  [
    'all roles of an asset',
    { type: 'acfg', caid: 7n, apar: { m: alice, r: bob, f: carol, c: alice } },
    [
      'Changes who may do what with asset 7.',
      `The manager address is ${A}.`,
      `The reserve address is ${B}.`,
      `The freeze address is ${C}.`,
      `The clawback address is ${A}.`,
    ],
  ],
  [
    'a freeze',
    { type: 'afrz', faid: 7n, fadd: bob, afrz: true },
    [`Freezes the holding of asset 7 of ${B}: it can then neither send nor receive any.`],
  ],
  [
    'an end of it',
    { type: 'afrz', faid: 7n, fadd: bob },
    [`Unfreezes the holding of asset 7 of ${B}: it can then send and receive again.`],
  ],
  [
    'going online',
    { type: 'keyreg', votekey: bob, selkey: carol, votefst: 5n, votelst: 9n, votekd: 3n },
    ['Brings the account online: its participation keys vote from round 5 to round 9.'],
  ],
  ['going offline', { type: 'keyreg' }, ['Takes the account offline: it votes no more until it registers keys again.']],
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
      `It may look at 2 other accounts: ${B} and ${C}.`,
      'It may deal with asset 7.',
      'It may call application 8 and application 10.',
      "It may use 1 of the application's boxes.",
      'Only if the version of the application is below 4.',
    ],
  ],
  [
    'an access list',
    { type: 'appl', apid: 9n, al: [{ d: bob }, { s: 7n }, { p: 8n }, { b: { n: Uint8Array.of(1) } }] },
    [
      'Calls application 9.',
      'It passes no arguments.',
      `It may look at 1 other account: ${B}.`,
      'It may deal with asset 7.',
      'It may call application 8.',
      "It may use 1 of the application's boxes.",
    ],
  ],
  [
    'an application opt-in',
    { type: 'appl', apid: 9n, apan: 1n },
    [
      'Opts in to application 9: it may then keep data for the account, which costs minimum balance.',
      'It passes no arguments.',
    ],
  ],
  [
    'an application close-out',
    { type: 'appl', apid: 9n, apan: 2n },
    ['Closes out of application 9: what it keeps for the account is removed, if it agrees.', 'It passes no arguments.'],
  ],
  [
    'a new application',
    { type: 'appl', apan: 1n, apap: Uint8Array.of(1, 2), apsu: Uint8Array.of(1), apgs: { nui: 3n } },
    [
      'Creates an application: approval program 2 bytes, clear program 1 byte.',
      'It may keep 3 integers and 0 byte strings of its own, and 0 integers and 0 byte strings for each account that opts in.',
      'The sender opts in to it at once.',
      'It passes no arguments.',
    ],
  ],
  [
    'an application made for one call',
    { type: 'appl', apan: 5n, apap: Uint8Array.of(1), apsu: Uint8Array.of(1) },
    [
      'Creates an application: approval program 1 byte, clear program 1 byte.',
      'It may keep 0 integers and 0 byte strings of its own, and 0 integers and 0 byte strings for each account that opts in.',
      'It is deleted again at once.',
      'It passes no arguments.',
    ],
  ],
  [
    'a heartbeat',
    { type: 'hb', hb: { a: bob, kd: 1n } },
    [`A heartbeat: shows that the participation keys of ${B} are in use.`],
  ],
]

describe('what is told of', () => {
  for (const [name, members, expected] of kinds) {
    test(name, () => {
      const { words, warnings } = tell(members)
      assert.deepEqual(words.slice(0, words.indexOf(`The sender is ${A}.`)), expected)
      assert.deepEqual(warnings, [])
    })
  }
})

type Risk = [name: string, members: Partial<Transaction.Transaction>, warnings: string[], isFinal?: 'final']
const untold = 'What it does cannot be told: do not sign it unless you know by other means.'

const risks: Risk[] = [
  [
    'rekey',
    { rcv: bob, rekey: carol },
    [`It rekeys ${A} to ${C}: whoever holds that key then owns the account, and the key of today can do nothing.`],
    'final',
  ],
  [
    'rekey to itself',
    { rcv: bob, rekey: alice },
    [`It gives ${A} back to its own key: whoever signed for it since can do so no more.`],
    'final',
  ],
  ['close', { close: bob }, [`It closes ${A}: all ALGO left in it goes to ${B}.`], 'final'],
  [
    'asset close-out',
    { type: 'axfer', xaid: 7n, arcv: bob, aclose: carol },
    [`All that ${A} has left of asset 7 goes to ${C}.`],
    'final',
  ],
  [
    'clawback',
    { type: 'axfer', xaid: 7n, aamt: 5n, asnd: bob, arcv: carol },
    [`It takes 5 base units of asset 7 out of another account, ${B}, by clawback.`],
    'final',
  ],
  ['high fee', { rcv: bob, fee: 100_001n }, ['The fee of 0.100001 ALGO is far above the usual 0.001 ALGO.'], 'final'],
  ['nobody receives ALGO', { amt: 1n }, ['It goes to the zero address, whose key nobody has: it is lost.'], 'final'],
  [
    'nobody receives an asset',
    { type: 'axfer', xaid: 7n, aamt: 1n },
    ['It goes to the zero address, whose key nobody has: it is lost.'],
    'final',
  ],
  [
    'one role given up',
    { type: 'acfg', caid: 7n, apar: { m: alice, r: bob, f: carol } },
    ['It gives up the clawback role of asset 7: once left blank, a role cannot be filled again.'],
    'final',
  ],
  [
    'the manager given up',
    { type: 'acfg', caid: 7n, apar: { r: bob } },
    [
      'It gives up the manager, freeze and clawback roles of asset 7: once left blank, a role cannot be filled again. Nothing about the asset can be changed after that.',
    ],
    'final',
  ],
  ['asset destroyed', { type: 'acfg', caid: 7n }, ['It destroys asset 7: there is no way back.'], 'final'],
  [
    'non-participation',
    { type: 'keyreg', nonpart: true },
    [`It marks ${A} as not taking part, for ever: no later transaction can undo that.`],
    'final',
  ],
  [
    'application deleted',
    { type: 'appl', apid: 9n, apan: 5n },
    ['It deletes application 9: what the application still holds may be out of reach for ever.'],
    'final',
  ],
  ['unknown action', { type: 'appl', apid: 9n, apan: 6n }, [untold], 'final'],
  ['unknown type', { type: 'zap' }, [untold], 'final'],
  ['a type that objects inherit', { type: 'valueOf' }, [untold], 'final'],
  [
    'application updated',
    { type: 'appl', apid: 9n, apan: 4n, apap: Uint8Array.of(1) },
    ['It updates application 9: everybody who uses it runs the new program from then on.'],
  ],
  [
    'application cleared',
    { type: 'appl', apid: 9n, apan: 3n },
    ['What application 9 keeps for the account is lost, and what it owes may be too.'],
  ],
  [
    'application made and more',
    { type: 'appl', apan: 4n },
    ['It creates an application and does something else with it at once, which is unusual.'],
  ],
  ['paying oneself', { rcv: alice, amt: 1n }, ['Sender and receiver are the same account.']],
  ['a state proof', { type: 'stpf' }, ['No account signs a state proof: a signature on it is good for nothing.']],
  ['MainNet', { rcv: bob, gh: hash(Network.mainnet), gen: 'mainnet-v1.0' }, ['This is MainNet: it moves real money.']],
  [
    'a network by the wrong name',
    { rcv: bob, gen: 'betanet-v1.0' },
    ['It calls its network "betanet-v1.0", but by the genesis hash it is TestNet: the network would refuse it.'],
  ],
  ['no genesis hash', { rcv: bob, gh: undefined }, ['Without a genesis hash it may be good on more than one network.']],
  ['no last round', { rcv: bob, lv: 0n }, ['It has no last round: it is never valid.']],
  ['rounds backwards', { rcv: bob, fv: 9n, lv: 8n }, ['Its last round comes before its first: it is never valid.']],
  ['hours', { rcv: bob, lv: 10_001n }, ['It stays valid for 10000 rounds, about 7 hours: unusually long.']],
  ['days', { rcv: bob, lv: 100_001n }, ['It stays valid for 100000 rounds, about 3 days: unusually long.']],
  [
    'for ever',
    { rcv: bob, lv: 2n ** 64n - 1n },
    ['It stays valid for 18446744073709551614 rounds, more than a year: unusually long.'],
  ],
  [
    'fields of another type',
    { rcv: bob, aclose: carol, nonpart: true },
    ['It has fields that do not belong to its type (aclose and nonpart): the network would refuse it.'],
  ],
]

describe('warned of', () => {
  for (const [name, members, expected, isFinal] of risks) {
    test(name, () => {
      const { warnings, finalWarnings } = tell(members)
      assert.deepEqual(warnings, expected)
      assert.deepEqual(finalWarnings, isFinal === 'final' ? expected : [])
    })
  }
})

test('a rekey and a close are told among the words too', () => {
  const { words } = tell({ close: bob, rekey: carol })
  assert.equal(words[0], `Closes the account: everything left then goes to ${B}.`)
  assert.ok(words.includes(`From then on ${C} signs for the sender.`))
  assert.equal(
    firstWords({ type: 'axfer', xaid: 7n, aclose: bob }),
    `Gives up the holding of asset 7: everything left of it then goes to ${B}.`,
  )
  assert.equal(tell({ amt: 5n, rcv: carol, close: bob }).words.length, words.length)
})

test('a fee of no use to anybody but an online account is explained there', () => {
  const { words } = tell({ type: 'keyreg', votekey: bob, selkey: bob, fee: 2_000_000n })
  assert.ok(words.includes('A fee of 2 ALGO or more makes it eligible for block rewards.'))
})

test('the gravest warnings come first', () => {
  const { warnings } = tell({ rcv: alice, rekey: bob, gh: hash(Network.mainnet), gen: undefined })
  assert.match(warnings[0]!, /^It rekeys /)
  assert.deepEqual(warnings.slice(1), [
    'Sender and receiver are the same account.',
    'This is MainNet: it moves real money.',
  ])
})

test('a zero address is named as such', () => {
  assert.equal(firstWords({}), `Pays 0 ALGO to the zero address, ${zero}.`)
})

test('local networks are told by id and hash', () => {
  const { words, warnings } = tell({ rcv: bob, gen: 'dockernet-v1', gh: new Uint8Array(32).fill(7) })
  assert.ok(
    words.includes(
      'The network is a local or private one, "dockernet-v1", with genesis hash BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=.',
    ),
  )
  assert.deepEqual(warnings, [])
})

test('USDC of a public network is known, and nobody can rename it', () => {
  const usdc = { type: 'axfer', xaid: 10458941n, aamt: 10_000n, arcv: bob }
  assert.equal(firstWords(usdc), `Sends 0.01 USDC (asset 10458941) to ${B}.`)
  const assets = new Map([[10458941n, { decimals: 0, unitName: 'FAKE' }]])
  assert.equal(firstWords(usdc, { assets }), `Sends 0.01 USDC (asset 10458941) to ${B}.`)
  assert.equal(firstWords({ ...usdc, gh: hash(Network.mainnet) }), `Sends 10000 base units of asset 10458941 to ${B}.`)
})

test('units that are given are used, and strange ones quoted', () => {
  const axfer = { type: 'axfer', xaid: 7n, aamt: 1234n, arcv: bob }
  const unit = (unitName: string, decimals = 2): string =>
    firstWords(axfer, { assets: new Map([[7n, { decimals, unitName }]]) })
  assert.equal(unit('GLD'), `Sends 12.34 GLD (asset 7) to ${B}.`)
  assert.equal(unit('GLD', 0), `Sends 1234 GLD (asset 7) to ${B}.`)
  assert.equal(unit('GLD', 6), `Sends 0.001234 GLD (asset 7) to ${B}.`)
  assert.equal(unit('to X "\n'), `Sends 12.34 "to X \\"\\n" (asset 7) to ${B}.`)
  for (const decimals of [20, -1, 1.5]) assert.equal(unit('GLD', decimals), `Sends 1234 base units of asset 7 to ${B}.`)
})

test('an asset that takes a famous name is warned of, on public networks', () => {
  const axfer = { type: 'axfer', xaid: 7n, aamt: 1n, arcv: bob }
  const assets = new Map([[7n, { decimals: 6, unitName: 'usdc' }]])
  assert.deepEqual(tell(axfer, { assets }).warnings, [
    'Asset 7 calls itself "usdc", but it is not the real one: only its number counts.',
  ])
  assert.deepEqual(tell({ ...axfer, gh: new Uint8Array(32).fill(7) }, { assets }).warnings, [])
})

describe('a note', () => {
  const note = (text: string | Uint8Array): string =>
    tell({ rcv: bob, note: Buffer.from(text as string) }).words.find((line) => line.startsWith('Note: '))!

  test('is text if it is text', () => assert.equal(note('grüße, 你好 🙂'), 'Note: "grüße, 你好 🙂".'))
  test('cannot end its quotes', () => assert.equal(note('a". Fee "\\'), 'Note: "a\\". Fee \\"\\\\".'))
  test('stays on its line', () => assert.equal(note('a\r\nb\u2028c'), 'Note: "a\\u{d}\\nb\\u{2028}c".'))
  test('is bytes if it moves the cursor, turns text or hides', () => {
    for (const text of ['\u001b[2J', '\u202eevil', 'a\u200bb', '\u009b', '\u3164', '\u0000']) {
      assert.equal(note(text), `Note: ${Buffer.from(text).toString('base64')} (base64).`)
    }
  })
  test('is bytes if it is no text', () => assert.equal(note(Uint8Array.of(0xff, 1)), 'Note: /wE= (base64).'))
  test('is cut if it is long', () => {
    assert.equal(note('x'.repeat(300)), `Note: "${'x'.repeat(200)}" and 100 more characters.`)
    assert.match(note(new Uint8Array(1024).fill(255)), /^Note: \/{96} and 952 more bytes \(base64\)\.$/)
  })
})

test('names of assets that strangers chose cannot break out', () => {
  const text = firstWords({ type: 'acfg', apar: { t: 1n, an: 'a"\u202e\n', un: Uint8Array.of(0xff, 0x41) } })
  assert.equal(text, 'Creates an asset named "a\\"\\u{202e}\\n": 1 "\ufffdA" in all, 0 decimals.')
})

describe('of a group', () => {
  const one = { ...header, type: 'pay', rcv: bob }
  const two = { ...header, type: 'pay', rcv: carol }
  const other = { ...two, gh: hash(Network.mainnet), gen: undefined }
  const missing =
    'These are not all of their group, or not in its order: signing agrees to transactions that are not shown here.'
  const whole = Group.assign([one, two])

  test('nothing is said if it is whole', () => {
    assert.deepEqual(Description.describeGroup(whole), [])
    assert.deepEqual(Description.describeGroup([one]), [])
    assert.deepEqual(Description.describeGroup(Group.assign([one])), [])
    assert.deepEqual(Description.describeGroup([]), [])
  })
  test('missing and moved members are noticed', () => {
    assert.deepEqual(Description.describeGroup([whole[0]!]), [missing])
    assert.deepEqual(Description.describeGroup(whole.toReversed()), [missing])
    assert.deepEqual(Description.describeGroup([whole[0]!, { ...whole[1]!, amt: 1n }]), [missing])
  })
  test('loose ones are told from a group', () => {
    assert.deepEqual(Description.describeGroup([one, two]), [
      'These transactions are no group: each may go through without the others.',
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
  test('different networks are noticed', () => {
    assert.deepEqual(Description.describeGroup(Group.assign([one, other])), [
      'These transactions are for different networks.',
    ])
  })
})

/** Control characters, bidi controls, line separators and lone surrogates; nothing of that may reach a terminal. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u

test('whatever can be decoded is told in printable lines', () => {
  const assets = fc.dictionary(
    fc.nat({ max: 130 }).map(String),
    fc.record({ decimals: fc.integer(), unitName: fc.string({ unit: 'binary' }) }),
  )
  const property = fc.property(fc.oneof(anyTransaction, typedTransaction), assets, (transaction, units) => {
    const decoded = Transaction.decode(Transaction.encode(transaction))
    const known = new Map(Object.entries(units).map(([id, asset]) => [BigInt(id), asset]))
    const { words, warnings, finalWarnings } = Description.describe(decoded, { assets: known })
    assert.ok(words.length >= 4)
    for (const line of [...words, ...warnings, ...Description.describeGroup([decoded, decoded])]) {
      assert.doesNotMatch(line, unprintable)
      assert.ok(line.length < 5_000, line)
    }
    assert.deepEqual(warnings.slice(0, finalWarnings.length), finalWarnings)
  })
  fc.assert(property, { numRuns: 500 })
})

test('a transaction that gives the account away is never told without a warning', () => {
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((bytes) => bytes.some((byte) => byte !== 0))
  fc.assert(
    fc.property(typedTransaction, key, (transaction, rekey) => {
      const { finalWarnings } = Description.describe({ ...transaction, rekey })
      assert.match(finalWarnings[0]!, /^It (rekeys|gives) /)
    }),
    { numRuns: 200 },
  )
})
