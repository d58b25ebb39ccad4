/**
 * The style of the seller's page. It is inline, and its hash is in the content security policy. The page has no script.
 */
export const salesStyle = `
:root {
  color-scheme: light dark;
  --paper: #fafaf9; --raised: #fff; --ink: #1b1d1f; --soft: #5a6066; --rule: #dfe1e2; --accent: #0b6b5c;
  --danger: #a3231a; --caution: #7a4d00;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #131516; --raised: #1a1d1f; --ink: #e7e9ea; --soft: #a0a7ac; --rule: #2c3033; --accent: #63c9b4;
    --danger: #ff9a8f; --caution: #ecc069;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums;
}
a { color: var(--accent); }
a:focus-visible, .scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
header { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: baseline; justify-content: space-between; }
h1 { margin: 0; font-size: 1.4rem; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: 2.25rem 0 0.5rem; font-size: 1.05rem; font-weight: 600; }
.bar { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; align-items: baseline; justify-content: space-between; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; margin: 0; padding: 0; list-style: none; }
nav [aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
.totals { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 1.5rem 0 0; }
.totals div { min-width: 9rem; }
.totals dt, .quiet { color: var(--soft); }
.totals dd { margin: 0; }
.totals .sum { font-size: 1.6rem; font-weight: 600; line-height: 1.2; overflow-wrap: anywhere; }
figure { margin: 1.75rem 0 0; }
figcaption { margin-bottom: 0.5rem; font-weight: 600; }
.plot { display: grid; grid-template-columns: auto 1fr; gap: 0 0.6rem; }
.plot .top, .plot .zero { color: var(--soft); font-size: 0.8125rem; text-align: right; white-space: nowrap; }
.plot .top { align-self: start; }
.plot .zero { align-self: end; }
.plot .axis { display: flex; flex-direction: column; justify-content: space-between; }
.plot svg { display: block; width: 100%; height: 9rem; border-bottom: 1px solid var(--soft); border-top: 1px dotted var(--rule); }
.plot rect { fill: var(--accent); }
.plot .dates { grid-column: 2; display: flex; justify-content: space-between; gap: 1rem; padding-top: 0.25rem; color: var(--soft); font-size: 0.8125rem; }
td svg { display: block; width: 100%; height: 0.375rem; margin-top: 0.25rem; }
td rect { fill: var(--accent); }
.bars { max-width: 36rem; margin-top: 0.5rem; }
.bars tr > :first-child { width: 60%; }
.scroll {
  overflow-x: auto;
  background:
    linear-gradient(90deg, transparent, var(--paper) 50%) right / 2rem 100% local no-repeat,
    linear-gradient(90deg, transparent, var(--rule)) right / 1rem 100% no-repeat;
}
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.4rem 1rem 0.4rem 0; border-bottom: 1px solid var(--rule); text-align: left; white-space: nowrap; vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
th.number, td.number { text-align: right; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
.id { font-family: var(--mono); font-size: 0.8125rem; }
.settled { color: var(--accent); }
.refused, .cancelled { color: var(--danger); }
.pending, .verified, .unknown { color: var(--caution); }
.empty { padding: 1rem 0; color: var(--soft); }
@media (max-width: 40rem) {
  th, td { padding-right: 0.6rem; }
  td.text:first-child { min-width: 7rem; }
}
@media (max-width: 23rem) {
  .bars th, .bars td { padding-right: 0.5rem; white-space: normal; }
  .bars tr > :first-child { width: 40%; }
}
footer { margin-top: 3rem; color: var(--soft); font-size: 0.8125rem; }
`
