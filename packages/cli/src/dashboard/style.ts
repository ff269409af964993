import { createHash } from 'node:crypto'

// Text has a contrast of at least 4.5:1 in both colour schemes; bars and borders of fields have 3:1.
export const style = `
:root { color-scheme: light dark; --ground: #f3f4f6; --card: #ffffff; --text: #1b1f24; --quiet: #57606a; --edge: #767f89; --rule: #d8dde3;
  --accent: #1a56db; --good: #1a7f37; --warn: #8a5a00; --fault: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0f1318; --card: #181d24; --text: #e6e9ee; --quiet: #a9b2bd; --edge: #7d8793; --rule: #323a44;
    --accent: #8ab4f8; --good: #56d364; --warn: #e3b341; --fault: #ffa198; }
}
* { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--ground); color: var(--text); overflow-wrap: anywhere; }
header p { margin: 0; color: var(--quiet); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0 1rem; padding: 0; list-style: none; }
nav a { display: inline-block; padding: .25rem 0; }
a { color: var(--accent); }
a[aria-current] { color: inherit; font-weight: 600; text-decoration: none; border-bottom: .1875rem solid var(--accent); }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 0 0 .75rem; font-size: 1.125rem; }
section, form, .results { margin: 0 0 1rem; padding: 1rem; border-radius: .75rem; background: var(--card); box-shadow: 0 1px 3px rgb(0 0 0 / .2); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; margin: 0 0 1rem; }
.cards section { margin: 0; min-width: 0; }
form { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); gap: .75rem; align-items: start; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
input, select { width: 100%; min-height: 2.5rem; padding: .375rem .625rem; border: 1px solid var(--edge); border-radius: .375rem;
  background: var(--card); color: inherit; font: inherit; }
button { margin-top: 1.75rem; min-height: 2.5rem; padding: .375rem 1rem; border: 2px solid var(--accent); border-radius: .375rem; background: none;
  color: var(--accent); font: inherit; font-weight: 600; cursor: pointer; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; }
th, td { padding: .375rem .75rem .375rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
thead th { color: var(--quiet); font-size: .875rem; white-space: nowrap; }
tbody th { font-weight: 400; }
td { max-width: 24rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.cards table { overflow-wrap: anywhere; }
.cards .time { white-space: normal; }
.bar { width: 30%; min-width: 4rem; }
.bar svg { display: block; width: 100%; height: 1rem; margin-top: .25rem; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .warn { color: var(--warn); } .fault { color: var(--fault); }
.quiet, .none { color: var(--quiet); }
.none { margin: 0; }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: 12rem; }
figure div { display: flex; justify-content: space-between; color: var(--quiet); font-size: .875rem; }
.succeeded { fill: var(--good); } .failed { fill: var(--fault); } .plain { fill: var(--accent); } .axis { stroke: var(--edge); stroke-width: 1; vector-effect: non-scaling-stroke; }
.key { font-weight: 600; }
[role="alert"] { border-left: .25rem solid var(--fault); }
@media (max-width: 30rem) {
  button { margin-top: 0; }
  .results th, .results td { min-width: 5.5rem; overflow-wrap: anywhere; }
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`

/** The only style that the page may use, as a source for its Content-Security-Policy. */
export const styleSource = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
