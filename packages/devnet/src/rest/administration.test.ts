/** The answers are those of a node in dev mode without peers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestNode } from '../testing/TestNode.test.helper.js'

type Answer = { status: number; text: string }

async function answer(node: TestNode, method: string, target: string, body = ''): Promise<Answer> {
  const response = await node.call(method, target, { body })
  assert.ok(typeof response !== 'symbol')
  return response
}

async function expectAnswers(cases: readonly (readonly [string, string, string, number, string])[]): Promise<void> {
  const node = new TestNode()
  for (const [method, target, body, status, expected] of cases) {
    const { status: actual, text } = await answer(node, method, target, body)
    assert.deepEqual([actual, text.trim()], [status, expected], `${method} ${target} ${body}`)
  }
}

test('a catch-up fails without peers, and is not needed to reach an earlier round', async () => {
  const unparsable = '{"message":"failed to parse catchpoint"}'
  const label = '4420000#Q7T2RRTDIRTYESIXKAAFJYFQWG4A3WRA3JIUZVCJ3F4AQ2G2HZRA'
  const noPeers = (catchpoint: string) =>
    `{"message":"unable to start catchpoint service for requested catchpoint ${catchpoint}: aborting catchup Start(): no peer pools available"}`
  const path = `/v2/catchup/${encodeURIComponent(label)}`
  await expectAnswers([
    ['POST', '/v2/catchup/xyz', '', 400, unparsable],
    ['DELETE', '/v2/catchup/xyz', '', 400, unparsable],
    ['POST', '/v2/catchup/5', '', 400, unparsable],
    ['POST', '/v2/catchup/5%23a1', '', 400, unparsable],
    ['POST', '/v2/catchup/99999999999999999999%23AA', '', 400, unparsable],
    ['DELETE', '/v2/catchup/5%23AA%23', '', 400, unparsable],
    ['POST', '/v2/catchup/5%23A', '', 408, noPeers('5#A')],
    ['POST', '/v2/catchup/5%23', '', 408, noPeers('5#')],
    ['POST', path, '', 408, noPeers(label)],
    ['POST', `${path}?min=0`, '', 408, noPeers(label)],
    ['POST', `${path}?min=5000000`, '', 200, '{"catchup-message":"the node has already been initialized"}'],
    [
      'POST',
      `${path}?min=x`,
      '',
      400,
      '{"message":"Invalid format for parameter min: error binding string parameter: strconv.ParseUint: parsing \\"x\\": invalid syntax"}',
    ],
    ['DELETE', path, '', 200, `{"catchup-message":"${label}"}`],
    ['GET', path, '', 405, '{"message":"Method Not Allowed"}'],
  ])
})

test('the rates of the profiler are kept, and the earlier ones returned', async () => {
  const path = '/debug/settings/pprof'
  const tooLarge = '{"message":"blocking rate cannot be larger than max int32 value"}'
  await expectAnswers([
    ['GET', path, '', 200, '{"block-rate":0,"mutex-rate":0}'],
    ['PUT', path, '{"block-rate":5,"mutex-rate":7}', 200, '{"block-rate":0,"mutex-rate":0}'],
    ['GET', path, '', 200, '{"block-rate":5,"mutex-rate":7}'],
    ['PUT', path, '{"block-rate":0}', 200, '{"block-rate":5}'],
    ['PUT', path, '{}', 200, '{}'],
    ['PUT', path, 'null', 200, '{}'],
    ['PUT', path, '{"block-rate":null}', 200, '{}'],
    ['PUT', path, '{"mutex-rate":3000000000}', 400, tooLarge],
    ['PUT', path, '{"block-rate":3000000000}', 400, tooLarge],
    ['PUT', path, '', 400, '{"message":"failed to decode object: EOF"}'],
    ['PUT', path, '  ', 400, '{"message":"failed to decode object: EOF"}'],
    ['PUT', path, '0'.repeat(200), 400, '{"message":"http: request body too large"}'],
    ['POST', path, '', 405, '{"message":"Method Not Allowed"}'],
  ])
  const node = new TestNode()
  for (const body of ['{"x":1}', '{"block-rate":-1}', '{"block-rate":5', '7']) {
    const { status, text } = await answer(node, 'PUT', path, body)
    assert.equal(status, 400, body)
    assert.match(text, /^\{"message":"failed to decode object: /)
  }
  assert.equal((await answer(node, 'GET', path)).text.trim(), '{"block-rate":0,"mutex-rate":0}')
})

test('the configuration has whether all blocks are kept', async () => {
  const archivalOf = async (node: TestNode) => (await node.get('/debug/settings/config')).json.Archival
  assert.equal(await archivalOf(new TestNode()), false)
  const all = { blocks: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
  assert.equal(await archivalOf(new TestNode({ history: all })), true)
})

test('requests that a node does not implement, or serves only if it is configured to', async () => {
  const notFound = '{"message":"Not Found"}'
  await expectAnswers([
    ['POST', '/v2/shutdown', '', 501, 'Endpoint not implemented.'],
    ['POST', '/v2/node/shutdown', '', 501, 'Endpoint not implemented.'],
    ['GET', '/v2/experimental', '', 404, notFound],
    ['POST', '/v2/transactions/async', '', 404, notFound],
    ['GET', '/debug/pprof/', '', 404, notFound],
    ['POST', '/v2/catchup', '', 404, notFound],
  ])
})

test('administration needs the token', async () => {
  const node = new TestNode({ token: 'a'.repeat(64) })
  for (const [method, target] of [
    ['POST', '/v2/catchup/xyz'],
    ['GET', '/debug/settings/pprof'],
    ['GET', '/debug/settings/config'],
    ['POST', '/v2/shutdown'],
  ] as const) {
    const { status, text } = await answer(node, method, target)
    assert.deepEqual([status, text.trim()], [401, '{"message":"Invalid API Token"}'], target)
  }
})
