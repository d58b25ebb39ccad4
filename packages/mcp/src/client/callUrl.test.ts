import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callUrl } from './payingCallTool.js'

test('a call is recorded with its server, its tool and a digest of its arguments', () => {
  assert.equal(callUrl('https://example.com/mcp/', 'a.b', 'd'), 'mcp://example.com/mcp/tools/a.b?arguments=d')
  assert.equal(callUrl('http://127.0.0.1:4021', 'a', 'd'), 'mcp://127.0.0.1:4021/tools/a?arguments=d')
  assert.equal(callUrl('weather', 'a', 'd'), 'mcp://weather/tools/a?arguments=d')
})

test('different servers, tools and arguments have different URLs, with any characters and at any length', () => {
  const servers = [
    'a',
    'A',
    'a/b',
    'a b',
    'a?b',
    'a#b',
    'https://a/b',
    'https://a/b?c',
    'https://a/b?d',
    'https://a:1/b',
  ]
  const tools = ['a', 'A', '..', '../a', 'a/b', 'a?arguments=d', 'a#b', 'é', '\ud800', '', 'x'.repeat(500)]
  const urls = servers.flatMap((server) => tools.flatMap((tool) => ['d', 'e'].map((one) => callUrl(server, tool, one))))
  assert.equal(new Set(urls).size, servers.length * tools.length * 2)
  for (const url of urls) {
    assert.ok(url.length < 2_048 && new URL(url).href === url, url)
    assert.match(new URL(url).search, /^\?arguments=[de]$/)
  }
})
