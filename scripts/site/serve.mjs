// Serves a built site on this machine: the files that exist at the start, and no others.
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, sep } from 'node:path'

const types = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * @param {{ folder: string, port: number, base?: string }} options
 * @returns {Promise<import('node:http').Server>} a server that listens on the loopback interface
 */
export function serveSite({ folder, port, base = '/' }) {
  const paths = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile())
  const files = new Map(paths.map((name) => [`${base}${name.split(sep).join('/')}`, join(folder, name)]))
  const server = createServer((request, response) => {
    const path = pathOf(request.url ?? '/')
    const file = [path, `${path}.html`, `${path}index.html`].map((one) => files.get(one)).find(Boolean)
    const found = file ?? files.get(`${base}404.html`)
    if (found === undefined || !['GET', 'HEAD'].includes(request.method)) {
      response.writeHead(404).end()
      return
    }
    const type = types[extname(found)] ?? 'application/octet-stream'
    response.writeHead(file === undefined ? 404 : 200, { 'Content-Type': type, 'X-Content-Type-Options': 'nosniff' })
    if (request.method === 'HEAD') response.end()
    else createReadStream(found).pipe(response)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

function pathOf(target) {
  try {
    return decodeURIComponent(new URL(target, 'http://localhost').pathname)
  } catch {
    return ''
  }
}
