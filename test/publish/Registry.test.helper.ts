/** Serves the tarballs as an npm registry, so that `npm install NAME` works as printed before a release. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import { atEnd, type Scope } from '../process/commands.test.helper.js'
import type { Tarball } from './Tarballs.test.helper.js'

/** Starts a registry that has these packages, and redirects requests for all others to the configured registry. */
export async function startRegistry(scope: Scope, tarballs: readonly Tarball[]): Promise<string> {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim().replace(/\/$/, '')
  const byName = new Map(tarballs.map((one) => [one.name, one]))
  const byFile = new Map(tarballs.map((one) => [`/files/${basename(one.path)}`, one.path]))
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/')
    const file = byFile.get(path)
    const found = byName.get(path.slice(1))
    if (file !== undefined) response.end(readFileSync(file))
    else if (found !== undefined) response.end(JSON.stringify(describe(found, url())))
    else response.writeHead(307, { Location: `${upstream}${request.url}` }).end()
  })
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(scope, () => {
    server.close()
    server.closeAllConnections()
  })
  return url()
}

/** Returns the document that npm reads for a package. */
function describe({ name, version, path }: Tarball, url: string): object {
  const manifest = JSON.parse(
    execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' }),
  ) as object
  const integrity = `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`
  const dist = { tarball: `${url}/files/${basename(path)}`, integrity }
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }
}
