// The WebAssembly text of scrypt's ROMix (RFC 7914 sections 3 to 5), written out by a generator because the same
// steps are needed for several lanes at once.
//
// Salsa20/8 is one long chain of dependent operations, and every step of the second half of ROMix waits for a read from
// a random place in megabytes of memory. One lane alone leaves the processor idle most of the time. Lanes are
// independent, so their steps are interleaved: while one waits, the others compute.
//
// Every 64-byte block is kept in diagonal order, so that one v128 holds the four words a quarter-round step works on:
//
//   a = 0 5 10 15    b = 4 9 14 3    c = 8 13 2 7    d = 12 1 6 11
//
// The caller (Romix.ts) does that reordering, once per lane. Word 0, which picks the next block,
// is the first word either way.
//
// Memory of one lane, in blocks of 128 * r bytes: V[0] to V[n - 1], then X, then (only if r > 1) a scratch block Y.
// The caller puts the lane's input into V[0] and finds the result in X.
//
//   fill(stride, from, count)   V[from + 1] to V[from + count], each the BlockMix of the one before; V[n] is X
//   mix(stride, n, count)       count times X = BlockMix(X xor V[Integerify(X) mod n])
//
// fill1 to fill4 and mix1 to mix4 serve r = 1 with that many lanes, `stride` bytes apart. fillR and mixR serve any r
// with one lane and take r instead of the stride; the count of mixR is even. Work is done in portions, and not in
// one call, because the engine swaps its quickly compiled code for the optimised code only between calls.

/** The numbers of r = 1 lanes that one call can mix. */
const widths = [1, 2, 3, 4]

const state = ['a', 'b', 'c', 'd']
const get = (name) => `(local.get $${name})`
const set = (name, value) => `(local.set $${name} ${value})`
const each = (items, text) => items.map(text).join('\n')
const range = (length) => Array.from({ length }, (_, i) => i)

/** target ^= (x + y) <<< bits, in every lane. */
const step = (lanes, target, x, y, bits) =>
  each(lanes, (l) => set(`t${l}`, `(i32x4.add ${get(x + l)} ${get(y + l)})`)) +
  each(lanes, (l) =>
    set(
      target + l,
      `(v128.xor
        (v128.xor ${get(target + l)} (i32x4.shl ${get(`t${l}`)} (i32.const ${bits})))
        (i32x4.shr_u ${get(`t${l}`)} (i32.const ${32 - bits})))`,
    ),
  )

const rotateWords = (lanes, name, by) => {
  const bytes = range(16).map((i) => (i + 4 * by) % 16)
  return each(lanes, (l) => set(name + l, `(i8x16.shuffle ${bytes.join(' ')} ${get(name + l)} ${get(name + l)})`))
}

/** One round on columns, or on rows once the caller has turned the diagonals and swapped b and d. */
const round = (lanes, b, d) =>
  [
    step(lanes, b, 'a', d, 7),
    step(lanes, 'c', b, 'a', 9),
    step(lanes, d, 'c', b, 13),
    step(lanes, 'a', d, 'c', 18),
    rotateWords(lanes, b, 3),
    rotateWords(lanes, 'c', 2),
    rotateWords(lanes, d, 1),
  ].join('\n')

/**
 * The eight rounds on a, b, c, d. Written out they are some percent faster for up to two lanes; with more, the compiler
 * runs out of registers unless a loop keeps the lanes in step.
 */
const salsaRounds = (lanes, label) => {
  const doubleRound = round(lanes, 'b', 'd') + round(lanes, 'd', 'b')
  if (lanes.length <= 2) return doubleRound.repeat(4)
  return `
  ${set('rounds', '(i32.const 4)')}
  (loop $${label}
    ${doubleRound}
    (br_if $${label} (local.tee $rounds (i32.sub ${get('rounds')} (i32.const 1)))))`
}

/** BlockMix for r = 1 on the locals x0 to x7 of each lane: the first half xors the last block into the first. */
const blockMix = (lanes) =>
  each([0, 4], (half) => {
    const other = 4 - half
    return `
      ${each(lanes, (l) =>
        each(range(4), (i) =>
          set(
            state[i] + l,
            `(local.tee $x${i + half}_${l} (v128.xor ${get(`x${i + half}_${l}`)} ${get(`x${i + other}_${l}`)}))`,
          ),
        ),
      )}
      ${salsaRounds(lanes, `rounds${half}`)}
      ${each(lanes, (l) =>
        each(range(4), (i) => set(`x${i + half}_${l}`, `(i32x4.add ${get(`x${i + half}_${l}`)} ${get(state[i] + l)})`)),
      )}`
  })

const locals = (lanes) =>
  `(local $rounds i32) (local $left i32)` +
  each(
    lanes,
    (l) => `(local $at${l} i32) (local $t${l} v128)
      ${each(state, (name) => `(local $${name}${l} v128)`)}
      ${each(range(8), (i) => `(local $x${i}_${l} v128)`)}`,
  )

const load = (l) => each(range(8), (i) => set(`x${i}_${l}`, `(v128.load offset=${16 * i} ${get(`at${l}`)})`))
const store = (l) => each(range(8), (i) => `(v128.store offset=${16 * i} ${get(`at${l}`)} ${get(`x${i}_${l}`)})`)
const xorIn = (l) =>
  each(range(8), (i) =>
    set(`x${i}_${l}`, `(v128.xor ${get(`x${i}_${l}`)} (v128.load offset=${16 * i} ${get(`at${l}`)}))`),
  )
/** The address of block `index` in lane l. */
const blockAt = (l, index) => `(i32.add (i32.mul (i32.const ${l}) ${get('stride')}) (i32.shl ${index} (i32.const 7)))`

const repeat = (count, body) => `
  ${set('left', count)}
  (loop $next
    ${body}
    (br_if $next (local.tee $left (i32.sub ${get('left')} (i32.const 1)))))`

const fill = (lanes) => `
  (func (export "fill${lanes.length}") (param $stride i32) (param $from i32) (param $count i32)
    ${locals(lanes)}
    ${each(lanes, (l) => set(`at${l}`, blockAt(l, get('from'))) + load(l))}
    ${repeat(
      get('count'),
      blockMix(lanes) + each(lanes, (l) => set(`at${l}`, `(i32.add ${get(`at${l}`)} (i32.const 128))`) + store(l)),
    )})`

const mix = (lanes) => `
  (func (export "mix${lanes.length}") (param $stride i32) (param $n i32) (param $count i32)
    ${locals(lanes)}
    ${each(lanes, (l) => set(`at${l}`, blockAt(l, get('n'))) + load(l))}
    ${repeat(
      get('count'),
      each(lanes, (l) =>
        set(
          `at${l}`,
          blockAt(l, `(i32.and (i32x4.extract_lane 0 ${get(`x4_${l}`)}) (i32.sub ${get('n')} (i32.const 1)))`),
        ),
      ) +
        each(lanes, xorIn) +
        blockMix(lanes),
    )}
    ${each(lanes, (l) => set(`at${l}`, blockAt(l, get('n'))) + store(l))})`

/**
 * BlockMix for any r: out = BlockMix(in), or BlockMix(in xor other) when `withOther`. The blocks of even number go to
 * the first half of `out`, the odd ones to the second.
 */
const blockMixR = (name, withOther) => {
  const input = (i, block) => {
    const own = `(v128.load offset=${16 * i} (i32.add ${get('in')} ${block}))`
    return withOther ? `(v128.xor ${own} (v128.load offset=${16 * i} (i32.add ${get('other')} ${block})))` : own
  }
  return `
  (func $${name} (param $in i32) (param $other i32) (param $out i32) (param $size i32)
    (local $rounds i32) (local $block i32) (local $to i32) (local $t0 v128)
    ${each(state, (s) => `(local $${s}0 v128) (local $last${s} v128)`)}
    ${each(state, (s, i) => set(`last${s}`, input(i, `(i32.sub ${get('size')} (i32.const 64))`)))}
    (loop $next
      ${each(state, (s, i) =>
        set(`${s}0`, `(local.tee $last${s} (v128.xor ${get(`last${s}`)} ${input(i, get('block'))}))`),
      )}
      ${salsaRounds([0], 'rounds0')}
      ${set(
        'to',
        `(i32.add ${get('out')} (i32.add
          (i32.and (i32.shr_u ${get('block')} (i32.const 1)) (i32.const -64))
          (select (i32.shr_u ${get('size')} (i32.const 1)) (i32.const 0) (i32.and ${get('block')} (i32.const 64)))))`,
      )}
      ${each(
        state,
        (s, i) => `(v128.store offset=${16 * i} ${get('to')}
          (local.tee $last${s} (i32x4.add ${get(`last${s}`)} ${get(`${s}0`)})))`,
      )}
      ${set('block', `(i32.add ${get('block')} (i32.const 64))`)}
      (br_if $next (i32.lt_u ${get('block')} ${get('size')}))))`
}

const generalRomix = `
  ${blockMixR('blockMix', false)}
  ${blockMixR('blockMixXor', true)}
  (func (export "fillR") (param $r i32) (param $from i32) (param $count i32)
    (local $size i32) (local $at i32) (local $left i32)
    ${set('size', `(i32.shl ${get('r')} (i32.const 7))`)}
    ${set('at', `(i32.mul ${get('from')} ${get('size')})`)}
    ${repeat(
      get('count'),
      `(call $blockMix ${get('at')} (i32.const 0) (i32.add ${get('at')} ${get('size')}) ${get('size')})
      ${set('at', `(i32.add ${get('at')} ${get('size')})`)}`,
    )})
  (func (export "mixR") (param $r i32) (param $n i32) (param $count i32)
    (local $size i32) (local $from i32) (local $to i32) (local $swap i32) (local $left i32)
    ${set('size', `(i32.shl ${get('r')} (i32.const 7))`)}
    ${set('from', `(i32.mul ${get('n')} ${get('size')})`)}
    ${set('to', `(i32.add ${get('from')} ${get('size')})`)}
    ${repeat(
      get('count'),
      `(call $blockMixXor
        ${get('from')}
        (i32.mul ${get('size')} (i32.and
          (i32.load (i32.sub (i32.add ${get('from')} ${get('size')}) (i32.const 64)))
          (i32.sub ${get('n')} (i32.const 1))))
        ${get('to')} ${get('size')})
      ${set('swap', get('from'))} ${set('from', get('to'))} ${set('to', get('swap'))}`,
    )})`

export const romixWat = `(module
  (memory (export "memory") 1)
  ${each(widths, (width) => fill(range(width)) + mix(range(width)))}
  ${generalRomix})`
