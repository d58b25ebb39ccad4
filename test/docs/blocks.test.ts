/**
 * Runs or checks every code block on every page. A block without a matching rule is a failure; the tables in
 * `rules.test.helper.ts` and `Provided.test.helper.ts` list what pages may use.
 */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { atEnd, type Scope } from '../process/commands.test.helper.js'
import { missingProgram } from '../support/programs.test.helper.js'
import { type Block, blocksOf, nameOf, pages } from './Blocks.test.helper.js'
import { type Compiled, compile, type Declared, removeCompiled, rewrite } from './Code.test.helper.js'
import { checkEnvironment, checkJson, checkNotRun, checkProxy } from './Files.test.helper.js'
import { isPrinted, normal } from './Output.test.helper.js'
import { environmentFor, openWorld, provide, type World } from './Provided.test.helper.js'
import { loadScript } from './Reference.test.helper.js'
import { followedElsewhere, notRun, pictures } from './rules.test.helper.js'
import { commandsIn, Shell } from './Shell.test.helper.js'

type Obtained = { readonly python?: string; readonly problem?: string }
const script = new URL('../../../scripts/obtain/python.mjs', import.meta.url).href
const { obtainPython } = (await import(script)) as { obtainPython: (requirements: string) => Obtained }
/** Installed before the first test, because that may take longer than the time of a block. */
const obtained = obtainPython('requirements-avm.txt')

const timeout = 120_000

// Built rather than committed, with code in its introduction.
const errorsName = 'docs/errors.md'
const { errorsPage } = await loadScript<{ errorsPage: () => Promise<string> }>('docs-errors.mjs')
const errorsText = await errorsPage()
const written = [...pages(), errorsName]
const isElsewhere = ({ page, section }: Block): boolean =>
  followedElsewhere.some(([where, heading]) => where === page && heading === section)
const blocks = written
  .flatMap((page) => blocksOf(page, page === errorsName ? errorsText : undefined))
  .filter((block) => !isElsewhere(block))
const isCode = ({ language }: Block): boolean => language === 'ts' || language === 'js'
const compiled = compile(blocks.filter(isCode))
after(removeCompiled)

/** Processes a page from top to bottom. */
class Reader {
  readonly #scope: Scope
  readonly #world: World
  #shell: Promise<Shell> | undefined
  /** The last output, which a block without a language may show. */
  #printed: string | undefined
  /** Whether the commands behind the shown output were skipped because a program is missing. */
  #isLeftOut = false
  /** The missing program that causes commands of the page to be skipped. */
  #missing: string | undefined

  constructor(scope: Scope) {
    this.#scope = scope
    this.#world = openWorld(scope)
  }

  read(t: TestContext, block: Block): void | Promise<void> {
    if (this.#isLeftOut && block.language === '') {
      t.skip('what prints it was not run')
      return
    }
    this.#isLeftOut = false
    switch (block.language) {
      case 'ts':
      case 'js':
        return this.#runCode(t, block, compiled.get(block)!)
      case 'sh':
        return this.#runCommands(t, block)
      case 'python':
        return this.#runPython(t, block)
      case 'json':
        return checkJson(t, block)
      case 'ini':
        return checkEnvironment(block)
      case 'nginx':
        return checkProxy(block)
      case '':
        return this.#compare(block)
      default:
        assert.fail(`no rule covers a block of ${block.language}; see test/docs/rules.test.helper.ts`)
    }
  }

  async #runCode(t: TestContext, block: Block, { faults, needs, load }: Compiled): Promise<void> {
    if (faults.length > 0) assert.fail(`it does not compile:\n${faults.join('\n')}`)
    const run = await load()
    const world = { ...this.#world, block: block.text }
    const environment = block.language === 'js' ? await environmentFor(world) : {}
    const before = { ...process.env }
    const lines: string[] = []
    t.mock.method(console, 'log', (...values: unknown[]) => lines.push(values.map(String).join(' ')))
    Object.assign(process.env, environment)
    try {
      const declared = await run(await provide(world, needs))
      for (const value of Object.values(declared)) {
        this.#endWithPage(value)
        // The purchased response must be the content, not a refusal.
        if (value instanceof Response && !value.ok) checkExpected(block, value, await textOfAnswer(value))
      }
    } finally {
      for (const name of Object.keys(environment)) delete process.env[name]
      Object.assign(process.env, before)
    }
    this.#printed = lines.join('\n')
  }

  /** Stops servers, daemons and chains that a block left running. */
  #endWithPage(value: Declared[string]): void {
    if (typeof value !== 'object' || value === null) return
    const { stop, close } = value as { stop?: unknown; close?: unknown }
    if (typeof stop === 'function') atEnd(this.#scope, () => stop.call(value))
    else if (typeof close === 'function') atEnd(this.#scope, () => close.call(value))
  }

  async #runCommands(t: TestContext, block: Block): Promise<void> {
    if (/\bcurl\b/.test(block.text)) this.#missing ??= missingProgram('curl') || undefined
    // Later commands may depend on the skipped one.
    if (this.#missing !== undefined) {
      this.#isLeftOut = true
      t.skip(this.#missing)
      return
    }
    this.#shell ??= Shell.open(this.#scope)
    const shell = await this.#shell
    for (const command of commandsIn(block.text)) if (notRun.some(([one]) => one.test(command))) checkNotRun(command)
    for (const { command, output, code } of await shell.run(block.text)) {
      assert.equal(code, 0, `${command}\nended with ${code} and printed:\n${output}`)
      this.#printed = shell.asOnPage(output)
    }
  }

  /** Runs Python with the packages of the interop tests, in the directory and environment of the preceding commands. */
  async #runPython(t: TestContext, { text }: Block): Promise<void> {
    const { python, problem } = obtained
    if (python === undefined || this.#missing !== undefined) {
      this.#isLeftOut = true
      t.skip(this.#missing ?? problem)
      return
    }
    this.#shell ??= Shell.open(this.#scope)
    const shell = await this.#shell
    shell.write('program.py', text)
    const [ran] = await shell.run(`PYTHONDONTWRITEBYTECODE=1 ${python} program.py`)
    assert.equal(ran!.code, 0, `it ended with ${ran!.code} and printed:\n${ran!.output}`)
    this.#printed = shell.asOnPage(ran!.output)
  }

  #compare({ page, text }: Block): void {
    if (pictures.some(([where, words]) => where === page && text.includes(words))) return
    assert.notEqual(
      this.#printed,
      undefined,
      'it is no picture (see test/docs/rules.test.helper.ts), and nothing was run before it',
    )
    assert.ok(isPrinted(text, this.#printed!), `this was printed before it:\n${normal(this.#printed!)}`)
  }
}

test('code that is run listens only on free ports', () => {
  const fixedPort = /\.listen\((?:'127\.0\.0\.1', )?[1-9]|\bport: [1-9]/
  for (const block of blocks.filter(isCode)) assert.doesNotMatch(rewrite(block.text), fixedPort, nameOf(block))
})

for (const page of written) {
  const own = blocks.filter((block) => block.page === page)
  if (own.length === 0) continue
  test(page, async (t) => {
    const reader = new Reader(t)
    for (const block of own) await t.test(nameOf(block), { timeout }, (inner) => reader.read(inner, block))
  })
}

/** A page that shows a refusal must mention its status. */
function checkExpected({ text }: Block, { status }: Response, body: string): void {
  assert.ok(new RegExp(`\\b${status}\\b`).test(text), `an answer has the status ${status}: ${body}`)
}

async function textOfAnswer(answer: Response): Promise<string> {
  return answer.bodyUsed ? 'read already' : answer.text()
}
