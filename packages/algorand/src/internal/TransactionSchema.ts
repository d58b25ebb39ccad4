import {
  always,
  bool,
  bytes,
  fixed,
  list,
  type Member,
  type Presence,
  required,
  struct,
  type Typed,
  text,
  uint8,
  uint16,
  uint32,
  uint64,
  uintMap,
  utf8,
} from './Schema.js'

// Every field of a transaction with its wire name, its type and the largest value that any version of the protocol has
// allowed. The ledger checks whether fields fit together, not the codec.

/** The differences between reading for a signer and for a node. */
export type Rules = {
  /** The presence of fields that are required for signing. */
  needed: <T>(of: Typed<T>) => Member<T, Presence>
  maxNoteBytes: number
  maxUnitBytes: number
  maxNameBytes: number
  maxUrlBytes: number
  maxAccess: number
  /** Of all arguments of an application call together. */
  maxArgumentsBytes: number
  maxLogicArguments: number
}

/**
 * For a signer: rejects a missing type or sender, and lengths that no ledger ever allowed. The ledger checks the rest.
 */
export const signingRules: Rules = {
  needed: required,
  maxNoteBytes: 4096,
  maxUnitBytes: 8,
  maxNameBytes: 32,
  maxUrlBytes: 96,
  maxAccess: 16,
  maxArgumentsBytes: 16_384,
  maxLogicArguments: 255,
}

/** For a node, which reads more than it accepts, so that its rejection can give the reason. */
export const submissionRules: Rules = {
  needed: always,
  maxNoteBytes: 65_536,
  maxUnitBytes: 1024,
  maxNameBytes: 1024,
  maxUrlBytes: 1024,
  maxAccess: 32,
  maxArgumentsBytes: 20_480,
  maxLogicArguments: 512,
}

const digest = fixed(32)
const address = fixed(32, { isAddress: true })
const signature = fixed(64)

const maxForeign = 32
const maxArguments = 32
const maxArgumentBytes = 16_384
const maxProgramBytes = 16_384
const maxBoxNameBytes = 128

const stateSchema = struct({ nui: uint64, nbs: uint64 })

const box = struct({ i: uint64, n: bytes(maxBoxNameBytes) })

const access = struct({
  d: address,
  s: uint64,
  p: uint64,
  h: struct({ d: uint64, s: uint64 }),
  l: struct({ d: uint64, p: uint64 }),
  b: box,
})

// The network creates state proofs, which have no signature of an account. They are included so that every transaction
// of a block can be decoded.
const maxReveals = 1024
const hashDigest = bytes(64, { isNilRead: true })

const merkleProof = struct({ pth: list(hashDigest, 32_768), hsh: struct({ t: uint16 }), td: uint8 })

const reveal = struct({
  s: struct({
    s: struct({ sig: bytes(1423), idx: uint64, prf: merkleProof, vkey: struct({ k: fixed(1793) }) }),
    l: uint64,
  }),
  p: struct({ p: struct({ cmt: fixed(64), lf: uint64 }), w: uint64 }),
})

const stateProof = struct({
  c: hashDigest,
  w: uint64,
  S: merkleProof,
  P: merkleProof,
  v: uint8,
  r: uintMap(reveal, maxReveals),
  pr: list(uint64, maxReveals),
})

const stateProofMessage = struct({ b: bytes(32), v: bytes(64), P: uint64, f: uint64, l: uint64 })

const heartbeat = struct(
  {
    a: address,
    prf: struct({ s: signature, p: fixed(32), p2: fixed(32), p1s: signature, p2s: signature }),
    sd: fixed(32),
    vid: fixed(32),
    kd: uint64,
    c: bool,
  },
  { keepEmpty: true },
)

function transactionBy(rules: Rules) {
  const assetParams = struct({
    t: uint64,
    dc: uint32,
    df: bool,
    un: text(rules.maxUnitBytes),
    an: text(rules.maxNameBytes),
    au: text(rules.maxUrlBytes),
    am: digest,
    m: address,
    r: address,
    f: address,
    c: address,
  })

  return struct(
    {
      type: rules.needed(utf8(7)),
      // A short sender is padded with zeros, because clients rely on the error that the key of this account is unknown.
      snd: rules.needed(fixed(32, { fillsShort: true, isAddress: true })),
      fee: uint64,
      fv: uint64,
      lv: uint64,
      note: bytes(rules.maxNoteBytes),
      gen: utf8(128),
      gh: digest,
      grp: digest,
      lx: fixed(32),
      rekey: address,

      votekey: fixed(32),
      selkey: fixed(32),
      sprfkey: fixed(64),
      votefst: uint64,
      votelst: uint64,
      votekd: uint64,
      nonpart: bool,

      rcv: address,
      amt: uint64,
      close: address,

      caid: uint64,
      apar: assetParams,

      xaid: uint64,
      aamt: uint64,
      asnd: address,
      arcv: address,
      aclose: address,

      fadd: address,
      faid: uint64,
      afrz: bool,

      apid: uint64,
      apan: uint64,
      apaa: list(bytes(maxArgumentBytes), maxArguments, rules.maxArgumentsBytes),
      apat: list(address, maxForeign),
      apfa: list(uint64, maxForeign),
      apas: list(uint64, maxForeign),
      apbx: list(box, maxForeign),
      al: list(access, rules.maxAccess),
      apls: stateSchema,
      apgs: stateSchema,
      apap: bytes(maxProgramBytes),
      apsu: bytes(maxProgramBytes),
      apep: uint32,
      aprv: uint64,

      sptype: uint64,
      sp: stateProof,
      spmsg: stateProofMessage,

      hb: heartbeat,
    },
    {
      // The array form follows the order of declaration in the reference. It is read as far as that order has never
      // changed: fields of application calls have been added between others since.
      // biome-ignore format: one line for each group of fields
      positional: [
        'type', 'snd', 'fee', 'fv', 'lv', 'note', 'gen', 'gh', 'grp', 'lx', 'rekey',
        'votekey', 'selkey', 'sprfkey', 'votefst', 'votelst', 'votekd', 'nonpart',
        'rcv', 'amt', 'close',
        'caid', 'apar',
        'xaid', 'aamt', 'asnd', 'arcv', 'aclose',
        'fadd', 'faid', 'afrz',
      ],
    },
  )
}

export const transaction = transactionBy(signingRules)
export const submittedTransaction = /* @__PURE__ */ transactionBy(submissionRules)
