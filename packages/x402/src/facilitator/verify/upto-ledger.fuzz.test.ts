/** The program of the scheme `upto` against a ledger: its assembly, and random transfers, valid and damaged. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Address, Bytes, Ed25519, Group, Submission, type Transaction } from '@latchkey/algorand'
import { Devnet, type DevnetOptions } from '@latchkey/devnet'
import { UptoPayment, UptoProgram, type UptoTerms } from '@latchkey/x402-wire'

const timeout = 120_000
/** The number of random transfers. */
const runs = Number(process.env['LATCHKEY_FUZZ'] ?? 1_000)
const dollar = 31566704n
const document = readFileSync(new URL('../../../../../docs/schemes/upto.md', import.meta.url), 'utf8')

function blockOf(info: string): string {
  const [, text] = new RegExp(`^\`\`\`${info}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(document) ?? []
  assert.ok(text !== undefined, `the specification has a block ${info}`)
  return text
}

type Person = { readonly address: string; readonly publicKey: Uint8Array; readonly secretKey: Uint8Array }

function personOf(byte: number): Person {
  const keys = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(byte))
  return { ...keys, address: Address.encode(keys.publicKey) }
}

const [payer, payTo, facilitator, stranger] = [personOf(1), personOf(2), personOf(3), personOf(4)] as const

async function start(t: TestContext, options: DevnetOptions = {}) {
  const devnet = await Devnet.start({ port: 0, accounts: 0, ...options })
  t.after(() => devnet.stop())
  devnet.fund(payer.address, { microAlgos: 10_000_000n, assets: [{ assetId: dollar, amount: 10n ** 12n }] })
  devnet.fund(facilitator.address, { microAlgos: 10n ** 12n })
  for (const { address } of [payTo, stranger]) {
    devnet.fund(address, { microAlgos: 10_000_000n })
    devnet.optIn(address, dollar)
  }
  const post = async (path: string, body: Uint8Array | string): Promise<Response> =>
    fetch(`${devnet.url}${path}`, { method: 'POST', body: body as string })
  const lastRound = async (): Promise<bigint> =>
    BigInt(((await (await fetch(`${devnet.url}/v2/status`)).json()) as { 'last-round': number })['last-round'])
  return { devnet, post, lastRound, genesisHash: Bytes.fromBase64(devnet.genesisHash)! }
}

type Node = Awaited<ReturnType<typeof start>>

async function submit({ post }: Node, members: readonly Uint8Array[]): Promise<string> {
  const response = await post('/v2/transactions', Bytes.concat(members))
  return response.ok ? 'accepted' : ((await response.json()) as { message: string }).message
}

function newTerms(node: Node, lastValid: bigint, maxAmount: bigint): UptoPayment.UnsignedAuthorization {
  return UptoPayment.buildAuthorization({
    payer: payer.address,
    payTo: payTo.address,
    assetId: dollar,
    maxAmount,
    facilitator: facilitator.address,
    genesisHash: node.genesisHash,
    lastRound: lastValid - 1_000n,
    isPublicNetwork: false,
    maxTimeoutSeconds: 60,
  })
}

function authorizationOf(unsigned: UptoPayment.UnsignedAuthorization): UptoPayment.Authorization {
  const signature = Ed25519.sign(UptoPayment.bytesToSign(unsigned), payer.secretKey)
  return UptoPayment.read(UptoPayment.toPayload(unsigned, signature, payer.address))
}

type Logic = { readonly l: Uint8Array; readonly sig: Uint8Array }

/** Signs the first transaction with the keys of its sender, and the second with a logic signature. */
function signedGroup(fee: Transaction.Transaction, transfer: Transaction.Transaction, logic: Logic): Uint8Array[] {
  const [first, second] = Group.assign([withoutGroup(fee), withoutGroup(transfer)])
  const sender = [payer, payTo, facilitator, stranger].find(({ publicKey }) => Bytes.equal(publicKey, first!.snd))!
  const bytes = Submission.withBytes({ txn: first! })
  const sig = Ed25519.sign(Bytes.concat([Bytes.fromUtf8('TX'), bytes.transactionBytes]), sender.secretKey)
  return [Submission.encode({ txn: first!, sig }), Submission.encode({ txn: second!, lsig: logic })]
}

function withoutGroup({ grp: _, ...txn }: Transaction.Transaction): Transaction.Transaction {
  return txn as Transaction.Transaction
}

test('the source in the specification assembles to the template', { timeout }, async (t) => {
  const { post } = await start(t)
  const unsigned: UptoTerms = {
    payer: payer.address,
    payTo: payTo.address,
    assetId: dollar,
    maxAmount: 500_000n,
    lease: new Uint8Array(32).fill(7),
    lastValid: 1_234n,
    genesisHash: new Uint8Array(32).fill(8),
    facilitator: facilitator.address,
  }
  const integer = (value: bigint): string => `0x${value.toString(16).padStart(16, '0')}`
  const bytes = (value: Uint8Array): string => `0x${Bytes.toHex(value)}`
  const constants = {
    TMPL_PAYER: bytes(payer.publicKey),
    TMPL_PAY_TO: bytes(payTo.publicKey),
    TMPL_ASSET: integer(unsigned.assetId),
    TMPL_MAXIMUM: integer(unsigned.maxAmount),
    TMPL_LEASE: bytes(unsigned.lease),
    TMPL_LAST_VALID: integer(unsigned.lastValid),
    TMPL_GENESIS_HASH: bytes(unsigned.genesisHash),
    TMPL_FACILITATOR: bytes(facilitator.publicKey),
  }
  let source = blockOf('teal upto')
  for (const [name, value] of Object.entries(constants)) source = source.replace(name, value)
  assert.ok(!source.includes('TMPL_'))
  const compiled = (await (await post('/v2/teal/compile', source)).json()) as { result: string }
  assert.equal(compiled.result, Bytes.toBase64(UptoProgram.build(unsigned)))
})

test('the specification has the bytes and the hash of the template', () => {
  const zero = Address.encode(new Uint8Array(32))
  const terms: UptoTerms = {
    payer: zero,
    payTo: zero,
    assetId: 0n,
    maxAmount: 0n,
    lease: new Uint8Array(32),
    lastValid: 0n,
    genesisHash: new Uint8Array(32),
    facilitator: zero,
  }
  assert.equal(blockOf('text template').replaceAll('\n', ''), Bytes.toHex(UptoProgram.build(terms)))
  assert.ok(document.includes(UptoProgram.templateHash()))
  assert.ok(document.includes(`${UptoProgram.programLength} bytes`))
})

/** A repeatable sequence of numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Parts = { fee: Transaction.Transaction; transfer: Transaction.Transaction; logic: Logic }

/** Each damage makes a valid group one that must be refused. */
const damages: { readonly [name: string]: (parts: Parts, random: () => number) => Parts } = {
  'above the maximum': (parts, random) => ({
    ...parts,
    transfer: { ...parts.transfer, aamt: 1_000_001n + BigInt(Math.floor(random() * 1e9)) },
  }),
  'another receiver': (parts) => ({ ...parts, transfer: { ...parts.transfer, arcv: stranger.publicKey } }),
  'to the payer itself': (parts) => ({ ...parts, transfer: { ...parts.transfer, arcv: payer.publicKey } }),
  'another asset': (parts) => ({ ...parts, transfer: { ...parts.transfer, xaid: dollar + 1n } }),
  rekey: (parts) => ({ ...parts, transfer: { ...parts.transfer, rekey: stranger.publicKey } }),
  close: (parts) => ({ ...parts, transfer: { ...parts.transfer, aclose: stranger.publicKey } }),
  clawback: (parts) => ({ ...parts, transfer: { ...parts.transfer, asnd: payTo.publicKey } }),
  'a fee of the payer': (parts) => ({ ...parts, transfer: { ...parts.transfer, fee: 1_000n } }),
  'another lease': (parts) => ({ ...parts, transfer: { ...parts.transfer, lx: new Uint8Array(32).fill(9) } }),
  'no lease': ({ transfer: { lx: _, ...transfer }, ...parts }) => ({ ...parts, transfer }),
  'an earlier last valid round': (parts) => ({
    ...parts,
    transfer: { ...parts.transfer, lv: parts.transfer.lv! - 1n },
  }),
  'a payment of ALGO': ({ transfer: { aamt: _, arcv, xaid: __, ...transfer }, ...parts }) => ({
    ...parts,
    transfer: { ...transfer, type: 'pay', rcv: arcv!, amt: 1n },
  }),
  'another sender': (parts) => ({ ...parts, transfer: { ...parts.transfer, snd: stranger.publicKey } }),
  'another facilitator': (parts) => ({
    ...parts,
    fee: { ...parts.fee, snd: stranger.publicKey, rcv: stranger.publicKey },
  }),
  'another program': (parts, random) => {
    const l = parts.logic.l.slice()
    const at = Math.floor(random() * l.length)
    l[at] = l[at]! ^ (1 << Math.floor(random() * 8))
    return { ...parts, logic: { ...parts.logic, l } }
  },
  'another signature': (parts, random) => {
    const sig = parts.logic.sig.slice()
    const at = Math.floor(random() * 32)
    sig[at] = sig[at]! ^ (1 << Math.floor(random() * 8))
    return { ...parts, logic: { ...parts.logic, sig } }
  },
}

test('random transfers: at most one for each authorization, within its terms', { timeout: 600_000 }, async (t) => {
  const node = await start(t)
  const { devnet } = node
  const random = randomOf(28)
  const names = Object.keys(damages)
  const balance = async (address: string): Promise<bigint> => {
    const path = `/v2/accounts/${address}/assets/${dollar}`
    type Held = { 'asset-holding': { amount: number } }
    const { 'asset-holding': holding } = (await (await fetch(`${devnet.url}${path}`)).json()) as Held
    return BigInt(holding.amount)
  }
  const before = { payer: await balance(payer.address), payTo: await balance(payTo.address) }
  let [charged, refused, seconds] = [0n, 0, 0]
  for (let count = 0; count < runs; ) {
    const maxAmount = 1n + BigInt(Math.floor(random() * 1_000_000))
    const lastRound = await node.lastRound()
    const authorization = authorizationOf(newTerms(node, lastRound + 1_000n, maxAmount))
    const partsOf = (amount: bigint): Parts => {
      const { fee, transfer } = UptoPayment.buildTransfer(authorization, { amount, feeMicroAlgos: 2_000n })
      const { l, sig } = transfer.signed.lsig!
      return { fee: fee.signed.txn, transfer: transfer.signed.txn, logic: { l: l!, sig: sig! } }
    }
    const amountOf = (): bigint => BigInt(Math.floor(random() * (Number(maxAmount) + 1)))
    for (let time = 0; time < 6; time++, count++) {
      const name = names[Math.floor(random() * names.length)]!
      const { fee, transfer, logic } = damages[name]!(partsOf(amountOf()), random)
      assert.notEqual(await submit(node, signedGroup(fee, transfer, logic)), 'accepted', name)
      refused++
    }
    const amount = amountOf()
    const { fee, transfer, logic } = partsOf(amount)
    assert.equal(await submit(node, signedGroup(fee, transfer, logic)), 'accepted')
    charged += amount
    // No second transfer, of the same or any other amount, with any first valid round.
    for (const second of [amount, amountOf()]) {
      const again = partsOf(second)
      const note = Bytes.fromUtf8(`another ${count}`)
      const fv = (again.transfer.fv ?? 0n) + 1n + BigInt(Math.floor(random() * 2))
      const group = signedGroup(again.fee, { ...again.transfer, note, fv }, again.logic)
      assert.match(await submit(node, group), /overlapping lease/)
      seconds++
    }
    count += 3
  }
  assert.ok(refused >= runs * 0.6 && seconds >= runs * 0.2)
  assert.equal(await balance(payTo.address), before.payTo + charged)
  assert.equal(await balance(payer.address), before.payer - charged)
})

test('the same signature is worthless on another network', { timeout }, async (t) => {
  const genesisHash = Bytes.toBase64(new Uint8Array(32).fill(6))
  const [node, other] = [await start(t), await start(t, { genesisHash })]
  assert.notDeepEqual(node.genesisHash, other.genesisHash)
  const lastRound = await other.lastRound()
  const authorization = authorizationOf(newTerms(node, lastRound + 1_000n, 500n))
  const { fee, transfer } = UptoPayment.buildTransfer(authorization, { amount: 5n, feeMicroAlgos: 2_000n })
  const { l, sig } = transfer.signed.lsig!
  const gh = other.genesisHash
  const group = signedGroup({ ...fee.signed.txn, gh }, { ...transfer.signed.txn, gh }, { l: l!, sig: sig! })
  assert.match(await submit(other, group), /rejected by logic/)
})

test('without the last valid round in the program, the ledger would accept two transfers', { timeout }, async (t) => {
  const node = await start(t)
  const { devnet } = node
  const lease = new Uint8Array(32).fill(11)
  const transferOf = (lv: bigint, aamt: bigint): Uint8Array => {
    const txn: Transaction.Transaction = {
      type: 'axfer',
      snd: payer.publicKey,
      arcv: payTo.publicKey,
      xaid: dollar,
      aamt,
      fee: 1_000n,
      lv,
      gh: node.genesisHash,
      lx: lease,
    }
    const { transactionBytes } = Submission.withBytes({ txn })
    const sig = Ed25519.sign(Bytes.concat([Bytes.fromUtf8('TX'), transactionBytes]), payer.secretKey)
    return Submission.encode({ txn, sig })
  }
  const round = await node.lastRound()
  assert.equal(await submit(node, [transferOf(round + 4n, 11n)]), 'accepted')
  assert.match(await submit(node, [transferOf(round + 40n, 31n)]), /overlapping lease/)
  for (let blocks = 0; blocks < 5; blocks++) devnet.mine()
  assert.equal(await submit(node, [transferOf(round + 40n, 31n)]), 'accepted', 'the trap that the program closes')
})
