/** Receives the daemon's messages about approvals, checks their signature, and says how to decide. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const { PORT: port = '4030', WEBHOOK_SECRET } = process.env
const secret = Buffer.from(WEBHOOK_SECRET, 'hex')

function isGenuine(header, body) {
  const [, time, signature] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? []
  if (time === undefined || Math.abs(Date.now() / 1000 - Number(time)) > 300) return false
  const expected = createHmac('sha256', secret).update(`${time}.${body}`).digest()
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'))
}

createServer(async (request, response) => {
  const body = await text(request)
  const isFromDaemon = isGenuine(request.headers['latchkey-signature'], body)
  response.writeHead(isFromDaemon ? 204 : 401).end()
  if (!isFromDaemon) return
  const { type, approval } = JSON.parse(body)
  console.log(type, approval.id, approval.agent_name, ...approval.description)
  if (type === 'approval.open') console.log(`To allow it: latchkey approvals approve ${approval.id}`)
}).listen(Number(port), '127.0.0.1')
