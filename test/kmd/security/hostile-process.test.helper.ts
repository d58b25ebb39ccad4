/**
 * Occupies a server: keeps many connections open, sends the same bytes on each, reads no response, and replaces each
 * closed connection. Writes a line once all connections were made.
 *
 * node hostile-process.test.helper.js '{"port": 7833, "count": 1100, "bytes": "GET / HTTP/1.1\r\n"}'
 */
import { connect, type Socket } from 'node:net'

type Attack = { port?: number; path?: string; count: number; bytes: string; replaceMs?: number; isRefused?: boolean }

/**
 * `replaceMs` is short compared with the life of a connection, and by default long enough that the attack does not take
 * a core for itself. `isRefused`: attempts count, too, because the system may refuse the connections.
 */
const { port, path, count, bytes, replaceMs = 250, isRefused = false } = JSON.parse(process.argv[2]!) as Attack
let made = 0

function report(): void {
  if (++made === count) process.stdout.write('ready\n')
}

function open(): void {
  const socket: Socket = path === undefined ? connect(port!, '127.0.0.1') : connect(path)
  socket.pause()
  socket.on('error', () => {
    if (isRefused) report()
  })
  // An unread response would hide that the server has closed the connection.
  const watch = setInterval(() => socket.read(0), 100)
  socket.on('connect', () => {
    socket.write(bytes)
    report()
  })
  socket.on('close', () => {
    clearInterval(watch)
    setTimeout(open, replaceMs)
  })
}

for (let i = 0; i < count; i++) open()
