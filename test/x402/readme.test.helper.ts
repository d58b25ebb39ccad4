/** Runs the code of the package's README, and of the page on the published packages, unchanged. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = new URL('../../../', import.meta.url)
/** Below this directory, so packages resolve. */
const directory = fileURLToPath(new URL(`./readme-${process.pid}/`, import.meta.url))

/** Returns the code block below a heading of the README, such as `Selling`. */
export function readmeBlock(heading: string): string {
  const sections = read('packages/x402/README.md').split(/^\*\*/m)
  const [block, ...others] = blocksIn(sections.find((part) => part.startsWith(`${heading}.**`)) ?? '')
  if (block === undefined || others.length > 0) throw new Error(`the README has no single block for ${heading}`)
  return block
}

/** Returns the code blocks for programs on the published packages: buying, selling, facilitating. */
export function publishedPackagesBlocks(): readonly string[] {
  return blocksIn(read('docs/published-packages.md'))
}

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

function blocksIn(text: string): string[] {
  return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block!)
}

let count = 0

/** Runs a block as a separate module in the given environment, and returns what it calls by these names. */
export async function run<Names extends string>(
  t: TestContext,
  block: string,
  environment: { [name: string]: string },
  ...names: Names[]
): Promise<{ [name in Names]: unknown }> {
  mkdirSync(directory, { recursive: true })
  const file = join(directory, `${count++}.mjs`)
  writeFileSync(file, `${block}\nexport { ${names.join(', ')} }\n`)
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const before = { ...process.env }
  Object.assign(process.env, environment)
  try {
    return (await import(pathToFileURL(file).href)) as { [name in Names]: unknown }
  } finally {
    for (const name of Object.keys(environment)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}
