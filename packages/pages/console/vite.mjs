// Bundles the console into separate files without inline code, so that its content security policy needs no exception.
import { fileURLToPath } from 'node:url'
import { compactApi } from '../compactApi.mjs'

const file = (folder, names) => `console/(?:${folder})(?:${names})\\.tsx?$`
const operations = (names) => `kmd-api/dist/operations/(?:${names})Operations\\.js$`

/** The code that several lazy views share is in two files, one about agents and one about transfers. */
const groups = [
  {
    name: 'agents',
    test: new RegExp(
      [
        'kmd-api/dist/rules/',
        operations('agent|approval|audit'),
        file('', 'agentBudgets|audit'),
        file('model/', 'agentWords|agentNetwork|auditWords|dailySpending'),
        file('components/', 'AgentState|AuditRow|BudgetBars|Claim|RulesInWords|SpendingCharts|SuspendedAgents'),
      ].join('|'),
    ),
    minShareCount: 2,
  },
  {
    name: 'transfers',
    test: new RegExp(
      [
        operations('transfer|submit|sign'),
        file('', 'preparation|sendDrafts|signing|submission'),
        file('model/', 'chosenAccount|sendDraft|transfer|transferChecks'),
        file('components/', 'AccountSelect|AmountFields'),
        file('views/', 'Confirmations|NoAccount|SignForm|SignResult|SubmitPanel|TransferFlow'),
      ].join('|'),
    ),
    minShareCount: 2,
  },
]

export const settings = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  plugins: [compactApi],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/console', import.meta.url)),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { includeDependenciesRecursively: false, groups } } },
  },
}
