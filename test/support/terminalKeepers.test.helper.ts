/**
 * Provides pseudo terminals for the tests of one process. Starting Python takes as long as most commands, so one Python
 * process serves all terminals and forks a keeper for each.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let address: Promise<string> | undefined

/** Returns a socket; each connection to it is a terminal. */
export function keepersAddress(): Promise<string> {
  address ??= start()
  return address
}

async function start(): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'latchkey-terminals-')), 'socket')
  const child = spawn('python3', ['-c', keepers, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`no terminals: python3 ended with code ${code}`)
    }),
  ])
  // The process exits with this one, when its input ends.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref: () => void }).unref()
  return path
}

/**
 * A connection begins with a line of JSON that names the command. A keeper holds both ends of the terminal, so its
 * settings can be read after the command has exited. The keeper sends frames, each with a letter and a length: `s` is
 * output of the command, `f` is facts (first the process id of the command, and at the end its exit code and the
 * terminal settings). Received data is typed. When the connection ends, the command is killed.
 */
const keepers = `
import fcntl, json, os, pty, select, shutil, signal, socket, struct, sys, termios

def keep(connection):
    request = b''
    while b'\\n' not in request:
        piece = connection.recv(65536)
        if not piece: return
        request += piece
    line, typed = request.split(b'\\n', 1)
    what = json.loads(line)
    def send(letter, data): connection.sendall(struct.pack('>cI', letter, len(data)) + data)
    master, slave = pty.openpty()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2): os.dup2(slave, fd)
            os.chdir(what['cwd'])
            os.execvpe(what['command'][0], what['command'], what['env'])
        finally:
            os._exit(127)
    status, sources = None, [connection, master]
    try:
        send(b'f', f'{child}\\n'.encode())
        if typed: os.write(master, typed)
        while True:
            ready, _, _ = select.select(sources, [], [], 0.02)
            if master in ready:
                send(b's', os.read(master, 65536))
            elif status is not None:
                break
            if connection in ready:
                typed = connection.recv(65536)
                if not typed: return
                os.write(master, typed)
            if status is None:
                done, code = os.waitpid(child, os.WNOHANG)
                if done == child: status = os.waitstatus_to_exitcode(code)
        flags = termios.tcgetattr(slave)[3]
        code = status if status >= 0 else 128 - status
        send(b'f', f'{code} {int(bool(flags & termios.ECHO))} {int(bool(flags & termios.ICANON))}\\n'.encode())
    except OSError:
        pass
    finally:
        if status is None: os.kill(child, signal.SIGKILL)

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print('ready', flush=True)
while True:
    ready, _, _ = select.select([0, listener], [], [])
    if 0 in ready: break
    connection, _ = listener.accept()
    if os.fork() == 0:
        listener.close()
        # A command must not inherit it.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try: keep(connection)
        finally: os._exit(0)
    connection.close()
shutil.rmtree(os.path.dirname(sys.argv[1]), ignore_errors=True)
`
