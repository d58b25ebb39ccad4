/** Hosts a devnet in a separate process, in the raw or the standard form (`Request` to `Response`). */
import { createDevnetHandler, Devnet } from '@latchkey/devnet'
import { Server } from '@latchkey/http'

export type Form = 'raw' | 'standard'

async function host(form: Form): Promise<{ url: string; mnemonic: string }> {
  if (form === 'raw') {
    const devnet = await Devnet.start({ port: 0 })
    return { url: devnet.url, mnemonic: devnet.dispenser.mnemonic }
  }
  const devnet = await createDevnetHandler()
  // A wrapper is required: given `devnet.fetch` itself, the server would call the raw handler behind it directly.
  const server = new Server({ fetch: (request, info) => devnet.fetch(request, info) })
  const { port } = await server.listen('127.0.0.1', 0)
  return { url: `http://127.0.0.1:${port}`, mnemonic: devnet.dispenser.mnemonic }
}

process.on('disconnect', () => process.exit())
host(process.argv[2] as Form).then((hosted) => process.send?.(hosted))
