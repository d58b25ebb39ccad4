import assert from 'node:assert/strict'
import test from 'node:test'
import type { Proof } from '@latchkey/x402-wire'
import { ask } from '../stubs.test.helper.js'
import * as GateRequest from './GateRequest.js'

const none = { hash: undefined, isProven: false }
const secret = { hash: 'h', isProven: true }

function read(request: Request, address?: string): GateRequest.GateRequest {
  return GateRequest.read(request, { key: '/a' }, { path: '/a' }, address)
}

function bindingOf(request: Request, proof: Proof, address?: string, terms?: readonly string[]): string {
  return GateRequest.bindingOf(read(request, address), proof, terms)
}

function claimantOf(storeId: string, request: Request): string {
  return GateRequest.claimantOf(storeId, read(request))
}

function of(headers: { [name: string]: string }, address?: string, path = '/a', method = 'GET'): string {
  return bindingOf(ask(path, 'payment', { headers, method }), none, address)
}

test('binds a buyer with a secret only by its hash', () => {
  const plain = bindingOf(ask('/a', 'x'), secret, '1.1.1.1')
  assert.equal(bindingOf(ask('/a', 'y', { headers: { Cookie: 'c' } }), secret, '2.2.2.2'), plain)
  assert.notEqual(bindingOf(ask('/a', 'x'), { ...secret, hash: 'other' }, '1.1.1.1'), plain)
  assert.notEqual(bindingOf(ask('/a?b', 'x'), secret, '1.1.1.1'), plain)
  assert.notEqual(bindingOf(ask('/a', 'x', { method: 'HEAD' }), secret, '1.1.1.1'), plain)
  assert.equal(bindingOf(ask('/a', 'x'), secret, '1.1.1.1', []), plain)
  const terms = [['best'], ['good'], [''], ['best', '']]
  const all = terms.map((one) => bindingOf(ask('/a', 'x'), secret, '1.1.1.1', one))
  assert.equal(new Set([plain, ...all]).size, 5)
  const methods = ['DELETE', 'PUT'].map((method) => {
    const request = ask('/a', 'x', { headers: { 'X-HTTP-Method-Override': method } })
    return bindingOf(request, secret, '1.1.1.1')
  })
  assert.equal(new Set([plain, ...methods]).size, 3)
})

test('binds a buyer without a secret by data that an observer of the ledger does not know', () => {
  const plain = of({}, '1.1.1.1')
  assert.equal(of({}, '1.1.1.1'), plain)
  const others = [
    of({}, '2.2.2.2'),
    of({ Cookie: 'c' }, '1.1.1.1'),
    of({ Authorization: 'a' }, '1.1.1.1'),
    of({}, '1.1.1.1', '/b'),
    of({}, '1.1.1.1', '/a', 'POST'),
    of({ 'X-Forwarded-For': '3.3.3.3' }, '1.1.1.1'),
  ]
  assert.equal(new Set([plain, ...others]).size, others.length + 1)
})

test('uses the address that the first proxy saw', () => {
  const first = of({ 'X-Forwarded-For': '3.3.3.3, 10.0.0.1' }, '10.0.1.1')
  assert.equal(of({ 'X-Forwarded-For': '3.3.3.3,10.0.0.2' }, '10.0.1.2'), first)
  assert.notEqual(of({ 'X-Forwarded-For': '4.4.4.4, 10.0.0.1' }, '10.0.1.1'), first)
  assert.equal(of({ 'X-Forwarded-For': '' }, '1.1.1.1'), of({}, '1.1.1.1'))
  // Anyone can send the header if there is no proxy.
  assert.notEqual(of({ 'X-Forwarded-For': '1.1.1.1' }, '6.6.6.6'), of({}, '1.1.1.1'))
})

test('a claimant belongs to one store and one resource, on any host', () => {
  const one = claimantOf('s', new Request('http://a.example/x?y'))
  assert.match(one, /^[A-Za-z0-9_-]{43}$/)
  assert.equal(claimantOf('s', new Request('https://b.example/x?y')), one)
  assert.notEqual(claimantOf('t', new Request('http://a.example/x?y')), one)
  assert.notEqual(claimantOf('s', new Request('http://a.example/x')), one)
})

test('derives the proof from the payment', () => {
  const proofs = [none, { hash: 'h', isProven: false }, secret].map(GateRequest.proofOf)
  assert.deepEqual(proofs, ['none', 'hash', 'secret'])
})
