// Takes the pictures of the documentation site from a running dev stack, with Chromium.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { canRunChromium, chromiumArgs, findChromium } from '../obtain/chromium.mjs'
import { root } from '../packages.mjs'

const startMs = 60_000

/** Each picture with the page and the heading that it follows. */
const places = {
  console: { page: 'docs/daemon.md', after: '## The console', alt: 'The overview of the console' },
  paywall: {
    page: 'docs/selling.md',
    after: '## Browsers: the payment page, and CORS',
    alt: 'The page that takes a payment in a browser',
  },
  terminal: {
    page: 'docs/devnet.md',
    after: '## The whole stack',
    alt: 'The first screen of latchkey dev in a terminal',
  },
}

/**
 * @returns {Promise<{ name: string, page: string, after: string, alt: string, bytes: Uint8Array }[]>} the pictures;
 * none without Chromium, which is reported on stderr
 */
export async function takePictures() {
  if (!canRunChromium()) {
    console.error('docs-site: Chromium does not run on this machine: the site gets no pictures')
    return []
  }
  const stack = await startStack()
  const { chromium } = await import('playwright-core')
  const browser = await chromium.launch({ executablePath: findChromium(), args: chromiumArgs, chromiumSandbox: false })
  try {
    const pictures = []
    for (const [name, open] of Object.entries(openers)) {
      const page = await browser.newPage({ viewport: { width: 1120, height: 700 }, reducedMotion: 'reduce' })
      page.setDefaultTimeout(startMs)
      await open(page, stack)
      const bytes = await page.screenshot()
      await page.close()
      pictures.push({ name: `${name}.png`, ...places[name], bytes })
    }
    return pictures
  } finally {
    await browser.close()
    await stack.stop()
  }
}

const openers = {
  console: async (page, { output }) => {
    const [link] = /http:\/\/\S+\/console\/#\S+/.exec(output)
    await page.goto(link)
    // The balance of the buyer after the first request, when the page has asked the node.
    await page.locator('main').getByText(/4\.99/).first().waitFor()
  },
  paywall: async (page, { output }) => {
    const [, url] = /Seller +(http:\/\/\S+)/.exec(output)
    await page.goto(url)
    await page.locator('button').first().waitFor()
  },
  terminal: async (page, { output }) => {
    // The link opens a console: a picture must not show it.
    const shown = withUsualPorts(output.replace(/#\S+/, '#...').trimEnd())
    await page.setViewportSize({ width: 820, height: 60 + 20 * shown.split('\n').length })
    await page.setContent(terminalPage(`$ npx latchkey dev\n${shown}`))
  },
}

/** Shows the ports that a stack has when no other program uses them. */
function withUsualPorts(text) {
  const usual = { Seller: 4021, 'Key daemon': 4002, Facilitator: 4022, Devnet: 4001, Indexer: 8980 }
  return Object.entries(usual).reduce((shown, [name, port]) => {
    const [, used] = new RegExp(`^ +${name} +http://127\\.0\\.0\\.1:(\\d+)`, 'm').exec(shown) ?? []
    return used === undefined ? shown : shown.replaceAll(`:${used}`, `:${port}`)
  }, text)
}

function terminalPage(text) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<body style="margin:0;background:#14201c"><pre style="margin:24px;color:#dbe7e1;font:14px/20px monospace">${escaped}</pre>`
}

/** Starts a dev stack that leaves nothing behind, and waits for its first screen. */
async function startStack() {
  const command = join(root, 'packages', 'cli', 'bin', 'latchkey.js')
  const child = spawn(process.execPath, [command, 'dev', '--ephemeral', '--any-port'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  const closed = once(child, 'close')
  const stop = async () => {
    child.kill('SIGTERM')
    await closed
  }
  let output = ''
  let timer
  await new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the dev stack did not start:\n${output}`)), startMs)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
        if (output.includes('To stop everything')) resolve()
      })
    }
    closed.then(([code]) => reject(new Error(`the dev stack ended with ${code}:\n${output}`)))
  })
    .catch(async (error) => {
      await stop()
      throw error
    })
    .finally(() => clearTimeout(timer))
  return { output, stop }
}
