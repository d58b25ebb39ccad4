/** Sends a request exactly as written, because clients normalize paths. */
import { connect } from 'node:net'

export type RawAnswer = { status: number; head: string; body: string }

export function rawRequest(
  url: string,
  target: string,
  { method = 'GET', host = new URL(url).host, headers = {} as { [name: string]: string } } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${lines.join('')}\r\n`)
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('end', () => {
      socket.destroy()
      const [head = '', ...rest] = text.split('\r\n\r\n')
      resolve({ status: Number(head.split(' ')[1] ?? 0), head, body: rest.join('\r\n\r\n') })
    })
  })
}
