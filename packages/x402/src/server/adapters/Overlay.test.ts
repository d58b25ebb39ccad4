import assert from 'node:assert/strict'
import test from 'node:test'
import { functions, Overlay, withMembers } from './Overlay.js'

test('restores the original properties, regardless of later overrides', () => {
  class Base {
    own = 1
    get size(): number {
      return 1
    }
    say(): string {
      return 'base'
    }
  }
  const target = new Base()
  const overlay = new Overlay(target, {
    ...functions({ say: () => 'overlay' }),
    own: { get: () => 2 },
    size: { get: () => 2 },
  })
  assert.deepEqual([target.say(), target.own, target.size], ['overlay', 2, 2])
  target.say = () => 'another'
  overlay.remove()
  assert.deepEqual([target.say(), target.own, target.size], ['base', 1, 1])
  assert.deepEqual(Object.keys(target), ['own'])
  overlay.put()
  assert.equal(target.say(), 'overlay')
  overlay.remove()
  overlay.remove()
  assert.equal(target.say(), 'base')
})

test('methods run on the object itself, and chained calls stay on the copy', () => {
  class Counter {
    #count = 0
    add(): this {
      this.#count++
      return this
    }
    get count(): number {
      return this.#count
    }
    stop(): string {
      return 'stopped'
    }
  }
  const counter = new Counter()
  const copy = withMembers(counter, { stop: () => 'refused' })
  assert.equal(copy.add().add().stop(), 'refused')
  assert.deepEqual([copy.count, counter.stop(), copy instanceof Counter], [2, 'stopped', true])
})
