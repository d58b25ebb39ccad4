import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallRequest } from './Connection.js'
import type { RequestName, ResponseTo } from './operations.js'

test('names that the description of an operation does not have do not compile', () => {
  const request: CallRequest<'InitWalletHandleToken'> = { members: { wallet_id: 'one' } }
  // @ts-expect-error: the request has no such member
  const wrongRequest: CallRequest<'InitWalletHandleToken'> = { members: { walletId: 'one' } }
  const response: keyof ResponseTo<'InitWalletHandleToken'> = 'walletHandleToken'
  // @ts-expect-error: the response has no such member
  const wrongResponse: keyof ResponseTo<'InitWalletHandleToken'> = 'walletHandle'
  const secret: RequestName<'InitWalletHandleToken'> = 'wallet_password'
  assert.ok([request, wrongRequest, response, wrongResponse, secret].every(Boolean))
})
