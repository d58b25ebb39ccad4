import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectText, TestNode } from '../testing/TestNode.test.helper.js'

test('describes every request of the algod API, and none that is not served', async () => {
  const node = new TestNode({ token: 'secret' })
  const { swagger, paths, info } = JSON.parse(expectText(await node.get('/swagger.json')))
  assert.deepEqual([swagger, info.title], ['2.0', 'latchkey devnet'])
  const described = Object.entries<{ [method: string]: { security?: object; parameters: { name: string }[] } }>(paths)
  assert.ok(described.length > 40)
  assert.ok(described.every(([path]) => !path.startsWith('/devnet')))
  const headers = { 'x-algo-api-token': 'secret' }
  for (const [path, operations] of described) {
    const target = path.replace(/\{[^}]+\}/g, '1')
    for (const [method, { security, parameters }] of Object.entries(operations)) {
      if (path.includes('wait-for-block')) continue
      const response = await node.call(method.toUpperCase(), target, { headers })
      assert.ok(typeof response !== 'symbol')
      assert.notDeepEqual([response.status, response.text], [404, '{"message":"Not Found"}\n'], path)
      assert.notEqual(response.status, 405, path)
      const without = await node.call(method.toUpperCase(), target)
      assert.ok(typeof without !== 'symbol')
      assert.equal(without.status === 401, security !== undefined, path)
      const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
      assert.deepEqual(
        parameters.slice(0, inPath.length).map(({ name }) => name),
        inPath,
      )
    }
  }
  assert.deepEqual(node.errors, [])
})
