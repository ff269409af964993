/** The style of every page. What an app may change, its color, is apart from it. */
// Text contrasts with its background at 4.5:1 or more, in both color schemes; borders of fields at 3:1.
export const style = `
:root { color-scheme: light dark; --ground: #f3f4f6; --card: #ffffff; --text: #1b1f24; --quiet: #57606a; --edge: #767f89;
  --accent: #1a56db; --on-accent: #ffffff; --fault: #b42318; --fault-ground: #fef3f2; --logo-ground: transparent; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0f1318; --card: #181d24; --text: #e6e9ee; --quiet: #a9b2bd; --edge: #7d8793;
    --accent: #8ab4f8; --on-accent: #0b1a33; --fault: #ffa198; --fault-ground: #2d1a1b; --logo-ground: #ffffff; }
}
* { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
body { margin: 0; padding: 1rem; min-height: 100vh; display: grid; align-content: center; justify-content: center;
  grid-template-columns: minmax(0, 26rem); background: var(--ground); color: var(--text); }
main { padding: 1.5rem; border-radius: .75rem; background: var(--card); overflow-wrap: anywhere;
  box-shadow: 0 1px 3px rgb(0 0 0 / .2); }
.place { margin: 0; color: var(--quiet); font-weight: 600; }
/* Most logos are made for a light ground. */
.logo { display: block; max-width: 100%; max-height: 3rem; margin-bottom: .75rem; border-radius: .25rem;
  background: var(--logo-ground); box-shadow: 0 0 0 .25rem var(--logo-ground); }
footer { display: flex; flex-wrap: wrap; justify-content: center; gap: .25rem 1.25rem; padding: 1rem; font-size: .9375rem; }
a { color: inherit; }
h1 { margin: .25rem 0 1rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 1.5rem 0 .25rem; font-size: 1.125rem; line-height: 1.25; }
p { margin: 0 0 1rem; }
form, main > :last-child, form > :last-child { margin-bottom: 0; }
.field { margin: 0 0 1rem; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
.optional { color: var(--quiet); font-weight: 400; }
.hint, .fault { margin: 0 0 .25rem; font-size: .9375rem; }
.hint { color: var(--quiet); }
.fault { color: var(--fault); font-weight: 600; }
.alert { padding: .75rem 1rem; border-left: .25rem solid var(--fault); background: var(--fault-ground); }
.notice { padding: .75rem 1rem; border-left: .25rem solid var(--accent); background: var(--ground); }
input, textarea, select { width: 100%; padding: .625rem .75rem; border: 1px solid var(--edge); border-radius: .375rem; background: var(--card);
  color: inherit; font: inherit; }
input[readonly], textarea[readonly] { background: var(--ground); }
input[aria-invalid="true"] { border: 2px solid var(--fault); }
nav ul { margin: 0 0 1rem; padding: 0; list-style: none; }
nav a { display: block; padding: .625rem 0; border-bottom: 1px solid var(--edge); }
.code { display: block; resize: none; field-sizing: content; overflow-wrap: anywhere;
  font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .875rem; }
.qr { display: block; width: 100%; max-width: 16rem; margin: 0 auto 1rem; }
button, .button { display: block; width: 100%; padding: .75rem 1rem; border: 1px solid transparent; border-radius: .375rem;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-align: center; text-decoration: none;
  cursor: pointer; }
.check { display: flex; gap: .5rem; align-items: flex-start; margin: 0 0 1rem; }
.check input { width: 1.125rem; height: 1.125rem; margin: .1875rem 0; flex: none; accent-color: var(--accent); }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9375em; }
.check label { margin: 0; font-weight: 400; }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; }
legend { margin-bottom: .5rem; padding: 0; font-weight: 600; }
form + form, form + p, p + form, noscript + form, form > button ~ p { margin-top: 1rem; }
.or { margin: 1rem 0; color: var(--quiet); text-align: center; }
button.harmful { border-color: var(--fault); background: transparent; color: var(--fault); }
button.quiet, .button.quiet { border-color: var(--edge); background: transparent; color: var(--text); }
button:hover, .button:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`
