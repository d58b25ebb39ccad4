/** Starts a devnet for one test on a free port; internal errors fail the test. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Devnet, type DevnetOptions } from '@latchkey/devnet'
import * as algosdk from 'algosdk'

export async function startDevnet(t: TestContext, options: DevnetOptions = {}): Promise<Devnet> {
  const errors: unknown[] = []
  const devnet = await Devnet.start({ port: 0, onError: (error) => errors.push(error), ...options })
  t.after(async () => {
    await devnet.stop()
    assert.deepEqual(errors, [])
  })
  return devnet
}

export function clientOf({ url, token = '' }: Devnet): algosdk.Algodv2 {
  return new algosdk.Algodv2(token, url)
}

/** Returns the account of a public mnemonic. */
export function accountOf({ mnemonic }: { mnemonic: string }): algosdk.Account {
  return algosdk.mnemonicToSecretKey(mnemonic)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
