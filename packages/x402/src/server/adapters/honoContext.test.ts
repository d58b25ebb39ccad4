import assert from 'node:assert/strict'
import test from 'node:test'
import { type HonoContext, pathOfContext } from './honoContext.js'

type Given = { sent?: string; path: string; url?: string; route?: string; basePath?: string }

function pathOf({ sent, path, url = path, route = '*', basePath = '/' }: Given) {
  const context = {
    req: {
      raw: new Request(`http://shop.example${url}`),
      path,
      matchedRoutes: [{ path: route, basePath }],
      routeIndex: 0,
    },
    env: sent === undefined ? undefined : { incoming: { url: sent } },
    res: new Response(),
  }
  return pathOfContext(context as unknown as HonoContext)
}

test('a whole path is relative to where the middleware is used', () => {
  const at = (route: string, basePath: string) =>
    pathOf({ sent: '/api/v1/a?x', path: '/api/v1/a', url: '/api/v1/a?x', route, basePath }).path.depth
  assert.deepEqual([at('*', '/'), at('/api/*', '/api'), at('/api/v1/*', '/api'), at('/api/v1/a', '/')], [0, 1, 2, 0])
})

test('finds a removed prefix from the connection', () => {
  const { path, url } = pathOf({ sent: '/api/v1/a?x=1', path: '/a', url: '/a?x=1' })
  assert.deepEqual([path.path, path.depth, path.isPrefixUnknown], ['/api/v1/a', 2, undefined])
  assert.equal(url, 'http://shop.example/api/v1/a?x=1')
  assert.equal(pathOf({ sent: '/api', path: '/' }).path.path, '/api/')
  assert.equal(pathOf({ sent: '/x/../api/%61', path: '/a', url: '/%61' }).path.path, '/api/a')
})

test('a path that was changed in another way, or whose connection is not known, may have lost a prefix', () => {
  assert.equal(pathOf({ path: '/a' }).path.isPrefixUnknown, true)
  const { path } = pathOf({ sent: '/public', path: '/internal' })
  assert.deepEqual([path.sent, path.isPrefixUnknown], ['/public', true])
})
