/** Configures VitePress. `scripts/site` writes the pages and the navigation to `content` first. */
import { readFileSync } from 'node:fs'

const { sidebar, nav } = JSON.parse(readFileSync(new URL('../content/navigation.json', import.meta.url), 'utf8'))

// biome-ignore lint/style/noDefaultExport: VitePress takes its settings from the default export.
export default {
  lang: 'en',
  title: 'Latchkey',
  description: 'A key management daemon and a pay-per-request (HTTP 402) stack for Algorand',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: 'content',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  metaChunk: true,
  // Pages name the addresses of programs on the reader's machine, such as a dev stack.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // Pages are plain Markdown: a type such as Promise<T> is text, not an element.
    html: false,
    linkify: false,
    anchor: { slugify },
    config: (md) => {
      // Vue would evaluate {{ }} in inline code.
      const inlineCode = md.renderer.rules.code_inline
      md.renderer.rules.code_inline = (tokens, index, ...rest) => {
        tokens[index].attrSet('v-pre', '')
        return inlineCode(tokens, index, ...rest)
      }
    },
  },
  // The search index and the longest reference pages are large; both load only when they are needed.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: 'local', options: { detailedView: true, _render: renderForSearch } },
    nav,
    sidebar,
    outline: [2, 3],
    docFooter: { prev: true, next: true },
    footer: { message: 'Apache-2.0' },
  },
}

/** Makes the anchors that GitHub makes, which the pages link to. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .trim()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** The index needs only the text of code: highlighting it again would take most of the time of a build. */
function renderForSearch(source, env, md) {
  const { highlight } = md.options
  md.options.highlight = null
  try {
    return md.render(source, env)
  } finally {
    md.options.highlight = highlight
  }
}
