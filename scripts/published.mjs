// Whether the packages are on npm, and the install notes of the pages that depend on it. At the release, set
// `isPublished` to true and run `node scripts/published.mjs`: test/docs/install-pages.test.ts compares the pages.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './packages.mjs'

/** The one setting. */
export const isPublished = false

const start = '<!-- install: written by scripts/published.mjs -->'
const end = '<!-- /install -->'

const platforms = `Latchkey runs on Linux with Node 20.19 or newer. macOS is not supported: there is code for its file locks and for launchd,
but no test has run on a Mac, secure memory is untested, and the check of an agent's user, which needs the credentials
of a Unix socket, is refused there. Windows is not supported: it has no \`flock\`.`

/** The commands that work in a folder next to a clone. */
export const commands = {
  pack: 'npm run pack',
  libraries: 'npm install ../latchkey/dist-packages/*.tgz',
  command: 'npx --package ../latchkey/dist-packages/all/latchkey-all.tgz latchkey dev',
}

/** The notes by page, for a setting. */
export const notes = {
  'README.md': (published) =>
    published
      ? `${platforms} Install the package you need; see [docs/install.md](docs/install.md).`
      : `${platforms}

**Latchkey is not on npm yet**: \`npm install @latchkey/x402\` and \`npx latchkey\` do not work until the first release, and
a package of that name would be a stranger's. Run \`${commands.pack}\` in a clone. Then, in your own folder next to it,
run \`${commands.libraries}\` in place of each \`npm install\` of these pages, or
\`${commands.command}\` for the commands alone. See
[docs/install.md](docs/install.md).`,
  'docs/install.md': (published) =>
    published
      ? platforms
      : `${platforms}

**Latchkey is not on npm yet.** The package names below fail with 404 until the first release, and a package of that
name would be a stranger's: do not run \`npx latchkey\` with a token. This works today, with a clone in the folder
\`latchkey\`:

| to | run |
|---|---|
| build all tarballs, in the clone | \`${commands.pack}\` |
| install every package in a project next to the clone | \`${commands.libraries}\` |
| run the commands without installing them | \`${commands.command}\` |

One tarball alone cannot be installed, because npm would look for its siblings on npm. After installing the tarballs,
every \`npx latchkey\` on these pages runs the installed command.`,
  ...Object.fromEntries(
    ['agents', 'buying', 'keys', 'selling', 'tests'].map((name) => [
      `docs/start/${name}.md`,
      (published) =>
        published
          ? ''
          : `Latchkey is not on npm yet. In place of \`npm install @latchkey/...\` or \`npm install latchkey\`, install the
tarballs of a clone: \`${commands.libraries}\`. See [install.md](../install.md).`,
    ]),
  ),
}

/** Returns a page with its note for the setting. @throws if the page has no place for it */
export function filled(path, text, published = isPublished) {
  const [before, ...others] = text.split(start)
  const after = others.join(start).split(end)
  if (others.length !== 1 || after.length !== 2) throw new Error(`${path} needs one ${start} and one ${end}`)
  const note = notes[path](published)
  return `${before}${start}\n\n${note === '' ? '' : `${note}\n\n`}${end}${after[1]}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const path of Object.keys(notes)) {
    const file = join(root, path)
    writeFileSync(file, filled(path, readFileSync(file, 'utf8')))
  }
}
