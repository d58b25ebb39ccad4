/** The order of the pages in the navigation. Every page of docs/ is in one group; the tests check that. */

export const groups = [
  {
    text: 'Start',
    pages: [
      'overview',
      'install',
      'tutorial',
      'start/selling',
      'start/buying',
      'start/agents',
      'start/keys',
      'start/tests',
    ],
  },
  {
    text: 'Pay and sell',
    pages: [
      'selling',
      'buying',
      'passes',
      'schemes/upto',
      'schemes/channel',
      'stores',
      'frameworks',
      'gateway',
      'published-packages',
    ],
  },
  { text: 'Keys and agents', pages: ['daemon', 'agents', 'mcp', 'money', 'audit'] },
  { text: 'Test', pages: ['devnet', 'testing-refusals', 'migrating-from-localnet'] },
  { text: 'Operate', pages: ['going-live', 'facilitator', 'deploying', 'scaling', 'upgrading'] },
  {
    text: 'Understand',
    pages: ['troubleshooting', 'faq', 'glossary', 'comparison', 'security', 'architecture', 'security-policy'],
  },
  { text: 'Reference', pages: ['cli', 'http', 'errors', 'payment-errors', 'api/index'] },
  { text: 'Project', pages: ['project', 'changelog', 'contributing'] },
]
