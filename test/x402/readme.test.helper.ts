/** The code of a package's README, run as it stands there. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const readme = fileURLToPath(new URL('../../../packages/x402/README.md', import.meta.url))
/** Below this directory, so that packages are found. */
const directory = fileURLToPath(new URL(`./readme-${process.pid}/`, import.meta.url))

/** The text of every block of code below a heading, such as `Selling`. */
export function blocks(heading: string): string[] {
  const text = readFileSync(readme, 'utf8')
  const section = text.split(/^\*\*/m).find((part) => part.startsWith(`${heading}.**`))
  if (section === undefined) throw new Error(`the README has no ${heading}`)
  return [...section.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block!)
}

let count = 0

/** Runs a block as a module of its own in the given environment; what it calls by these names is returned. */
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
