/** Tests claims from several processes at once. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

/** @param addressOf returns the address of an empty store */
export function severalProcesses(name: string, addressOf: () => Promise<string>): void {
  test(`${name}: 64 claimants in two processes never claim the same payment`, async (t) => {
    const address = await addressOf()
    const script = new URL('./claiming-process.test.helper.js', import.meta.url)
    const children = ['a', 'b'].map((which) => fork(script, [address, which, '400']))
    t.after(() => {
      for (const child of children) child.kill('SIGKILL')
    })
    await Promise.all(children.map((child) => once(child, 'message')))
    for (const child of children) child.send('go')
    const counts = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as number))
    assert.equal(counts[0]! + counts[1]!, 400)
  })
}
