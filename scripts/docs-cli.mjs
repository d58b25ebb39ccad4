// docs/cli.md, from what the commands themselves say.
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { help } from '../packages/cli/dist/Command.js'
import { registry } from '../packages/cli/dist/registry.js'
import { topics } from '../packages/cli/dist/topics.js'

const kmd = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages', 'cli', 'bin', 'kmd.js')

export async function cliPage() {
  const commands = registry.map(
    ({ name, about }) => `| [\`latchkey ${name}\`](#${anchorOf(`latchkey ${name}`)}) | ${about} |`,
  )
  const sections = await Promise.all(
    registry.map(async ({ name, load }) => section(`latchkey ${name}`, help(name, await load()))),
  )
  const told = Object.entries(topics).map(([name, { about, text }]) => section(`latchkey help ${name}`, text(), about))
  return `# Commands

Written by \`npm run docs\` from what the commands say of themselves. Do not edit it. At the root of a clone they are called
by \`npx\`: \`npx latchkey pay URL\`.

| | |
|---|---|
${commands.join('\n')}
| [\`kmd\`](#kmd) | run the key daemon as the Go daemon is run, for its launchers |

${[...sections, section('kmd', goHelp()), ...told].join('\n')}`
}

function section(name, text, about) {
  const lead = about === undefined ? '' : `${about[0].toUpperCase()}${about.slice(1)}.\n\n`
  return `## ${name}\n\n${lead}\`\`\`\n${text.trimEnd()}\n\`\`\`\n`
}

function anchorOf(name) {
  return name.replaceAll(' ', '-')
}

function goHelp() {
  return execFileSync(process.execPath, [kmd, '--help'], { encoding: 'utf8' })
}
