/** Describes transactions in plain language before they are signed. */
import { define, extraPrefix, refused } from '../Description.js'
import { bytes } from '../members.js'

const texts = { type: 'list', of: { type: 'string' } } as const

const described = {
  type: 'object',
  name: 'DescribedTransaction',
  members: [
    { name: 'transaction_id', shape: { type: 'string' } },
    { name: 'type', shape: { type: 'string' } },
    { name: 'sender', shape: { type: 'string' } },
    { name: 'words', shape: texts },
    { name: 'warnings', shape: texts },
    { name: 'final_warnings', shape: texts },
    { name: 'is_signed', shape: { type: 'bool' } },
    { name: 'transaction', shape: { type: 'base64' } },
  ],
} as const

/** Describes transactions. */
export const describeOperations = {
  DescribeTransaction: define({
    method: 'POST',
    path: `${extraPrefix}/transaction/describe`,
    about: 'Describes transactions in plain text, with warnings to consider before signing.',
    request: [
      {
        name: 'transaction',
        kind: bytes,
        about: 'The msgpack of one transaction or of up to 16, one after another, signed or not',
      },
    ],
    response: [
      { name: 'transactions', shape: { type: 'list', of: described } },
      { name: 'group_warnings', shape: texts },
    ],
    responseName: 'DescribeTransactionResponse',
    access: { console: 'allowed', agent: refused('TestOwnAgent shows how the rules decide about a transaction') },
    audit: 'none',
  }),
}
