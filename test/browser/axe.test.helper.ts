/** Checks the accessibility of a page with axe-core. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from './chromium.test.helper.js'

type Violation = { id: string; help: string; nodes: readonly { html: string }[] }
type Axe = { run: (options: object) => Promise<{ violations: readonly Violation[] }> }

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Returns the issues that axe-core finds on the page in its current state, each with its elements. The expected result
 * is none.
 */
export async function axeIssues(page: Page): Promise<string[]> {
  // Evaluated through the debugger, which bypasses the content security policy of the page.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(source)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: Axe }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
}
