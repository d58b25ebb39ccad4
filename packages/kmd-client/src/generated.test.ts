import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

test('the generated tables are up to date', async () => {
  const script = new URL('../../../scripts/generate-client.mjs', import.meta.url)
  const { clientTables } = (await import(pathToFileURL(script.pathname).href)) as {
    clientTables: () => { [file: string]: string }
  }
  for (const [file, content] of Object.entries(clientTables())) {
    const written = readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8')
    assert.equal(written, content, `${file} is stale: run npm run generate`)
  }
})
