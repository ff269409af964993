// `npm run generate` writes every file that is derived from the sources; with --check it writes none and fails when one is stale.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import stringify from 'json-stringify-pretty-compact'
import { renderReference } from '../packages/cli/src/reference.ts'
import { renderApiReport } from '../packages/sdk/api-report.ts'
import { openApiDocument } from '../packages/server/src/app.ts'
import { type SettingNotes, settings } from '../packages/server/src/config.ts'
import { auditEvents } from '../packages/server/src/lib/audit-events.ts'
import { type Group, readPageList } from '../site/page-list.ts'
import { type Runs, runHeading, tableOf } from '../test/bench/support/results.ts'
import { coveragePage } from './contract-coverage.ts'
import { draw } from './drawings/draw.ts'
import { drawFiveBars, fiveBarsTable } from './drawings/five-bars.ts'
import { drawRecording } from './drawings/recording.ts'
import { drawScalePicture } from './drawings/scale.ts'
import { errorSections } from './error-sections.ts'
import { sizingTables } from './sizing.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

interface Derived {
  path: string
  generate(): string | Promise<string>
}

const performancePath = 'docs/operate/performance.md'
const sizingPath = 'docs/operate/sizing.md'
const figuresPath = 'docs/reference/performance-figures.md'

const derived: Derived[] = [
  { path: 'docs/README.md', generate: indexPage },
  { path: 'docs/reference/openapi.json', generate: () => `${stringify(openApiDocument(), { maxLength: 130 })}\n` },
  { path: 'docs/reference/errors.md', generate: errorsPage },
  { path: 'docs/reference/audit-events.md', generate: auditEventsPage },
  { path: 'docs/reference/configuration.md', generate: configurationPage },
  ...Object.entries(renderReference()).map(([page, text]) => ({ path: `docs/reference/authctl/${page}`, generate: () => text })),
  { path: 'packages/cli/src/nouns/audit-event-names.ts', generate: auditEventNames },
  { path: 'docs/reference/contract/coverage.md', generate: contractPage },
  ...globSync('docs/pictures/*.txt', { cwd: root }).map((path) => ({
    path: path.replace(/txt$/, 'svg'),
    generate: () => drawing(path),
  })),
  { path: 'docs/pictures/performance.svg', generate: () => drawFiveBars(benchRuns()) },
  { path: performancePath, generate: performancePage },
  { path: sizingPath, generate: sizingPage },
  { path: 'docs/pictures/scale.svg', generate: () => drawScalePicture(benchRuns().scale) },
  { path: figuresPath, generate: figuresPage },
  { path: 'packages/sdk/api.md', generate: renderApiReport },
  { path: 'deploy/kubernetes/base/kustomization.yaml', generate: pinnedImage },
]

/** The file as it is, with the version of the service as the tag of its image. */
function pinnedImage(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8'))
  const text = readFileSync(join(root, 'deploy/kubernetes/base/kustomization.yaml'), 'utf8')
  return text.replace(/newTag: .*/, `newTag: ${version}`)
}

/** The list of all pages, for readers on a code host, and as the first page of the site. */
function indexPage(): string {
  const links = ({ pages }: Group) => pages.map(({ path, title }) => `[${title}](${path})`).join(' · ')
  const sections = readPageList().flatMap((group) => [
    `## ${group.title}`,
    '',
    group.about,
    '',
    links(group),
    '',
    ...group.groups.flatMap((inner) => [`${inner.title}: ${links(inner)}`, '']),
  ])
  return page('Gatehouse, page by page', 'docs/pages.json', [
    ...sections,
    '## Beside these pages',
    '',
    '[README](../README.md) · [Contribute](../CONTRIBUTING.md) · [Report a weakness](../SECURITY.md) · [Code of conduct](../CODE_OF_CONDUCT.md) · ' +
      '[License](../LICENSE) · [Examples](../examples) · Changes of [the service](../packages/server/CHANGELOG.md), ' +
      '[`authctl`](../packages/cli/CHANGELOG.md), [the SDK](../packages/sdk/CHANGELOG.md)',
  ])
}

function configurationPage(): string {
  const rows = Object.entries(settings.shape).map(([name, schema]) => {
    const {
      description = '',
      default: usual = '',
      inProduction = '',
    } = (schema.meta() ?? {}) as SettingNotes & { description?: string }
    return `| \`${name}\` | ${[description, quoted(usual), quoted(inProduction)].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  const secretNames = Object.entries(settings.shape).flatMap(([name, schema]) => (schema.meta()?.secret ? [`\`${name}\``] : []))
  return page('Configuration', 'packages/server/src/config.ts', [
    'All settings are environment variables; an empty one counts as unset. All invalid settings are reported together at startup.',
    'Production mode is `NODE_ENV=production`; the last column shows where it differs.',
    '',
    'A secret can also come from a file. Set its path in the variable with `_FILE` after its name (`JWT_ACCESS_SECRET_FILE`). It must be',
    'a regular file of up to 64 KiB; one final line break is removed. Setting both variables is an error. The secrets are',
    `${secretNames.join(', ')}.`,
    '',
    '`gatehouse serve` and `gatehouse check` warn about:',
    '',
    '- a variable that begins with `AUTH_`, `JWT_` or `DB_` and is not a setting, with the nearest name that is one;',
    '- a secret file that every user of the machine can read: the file allows it, and each folder above lets others through. A file',
    '  that a container runtime mounts on its own, as Docker Compose does, is left out;',
    '- a `PUBLIC_URL` with a path: the sign-in page is off, since its cookies belong to a whole origin. The API and the pages that',
    '  mails lead to work as before;',
    '- in production, a `PUBLIC_URL` with http (other than on the loopback address), since passwords can be read in transit;',
    '- in production, `AUTH_TRUST_PROXY=0` with an https `PUBLIC_URL`. The service speaks plain HTTP, so a proxy is in front, and all',
    '  callers seem to have its address and share one rate limit;',
    '- in production, a `MAIL_FROM` at localhost, which mail servers refuse or take for spam.',
    '',
    '| Variable | Meaning | Default | In production |',
    '| --- | --- | --- | --- |',
    ...rows,
  ])
}

/** Formats a value as code. Leaves words, and notes with backticks, as they are. */
function quoted(note: string): string {
  return note === '' || note === 'required' || /[\s`]/.test(note) ? note : `\`${note}\``
}

function contractPage(): string {
  return page('What proves the contract', 'docs/reference/contract and the tests', [
    'Each sentence of the pages here, with the tests that cover it. `npm run check` fails for a sentence that has none.',
    '',
    coveragePage(),
  ])
}

function errorsPage(): string {
  return page('Error codes', 'packages/server/src/errors.ts and error-advice.ts', [
    'Every refusal by the API has one of these codes in its member `code`. Switch on the code: the wording may change, the code will not.',
    'Four answers look different: `two_factor_required` is only `{"requires_2fa": true}`, `/ready` lists its checks with 503, a',
    'third-party login that fails redirects with `error` of [RFC 6749](../sign-users-in/third-party-login.md), and the pages of the service are HTML.',
    '',
    'The guards of the SDK use the same codes and words. Two are theirs: `permission_denied`, where the service itself says which right is',
    'missing, and `insufficient_user_authentication`, which [a fresh proof](../sign-users-in/step-up.md) answers.',
    '',
    'Words in capitals in a command, such as `CODE` and `USER`, stand for yours.',
    '',
    errorSections(),
  ])
}

/** The names for the command line, which completes them but imports nothing of the server. */
function auditEventNames(): string {
  const head = '// Generated from packages/server/src/lib/audit-events.ts by `npm run generate`. Do not edit.'
  const names = Object.keys(auditEvents).map((name) => `  '${name}',\n`)
  return `${head}\nexport const auditEventNames = [\n${names.join('')}] as const\n`
}

function auditEventsPage(): string {
  const rows = Object.entries(auditEvents).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`)
  return page('Audit events', 'packages/server/src/lib/audit-events.ts', [
    'What `GET /api/v1/admin/audit` and `authctl audit list` show. A filter takes one, several, or a family such as `user.*`. Any other name fails with 400, which names the nearest of these.',
    '',
    '| Event | Meaning |',
    '| --- | --- |',
    ...rows,
  ])
}

/** The last results of `npm run bench -- --write`. */
function benchRuns(): Runs {
  return JSON.parse(read('docs/reference/performance.json') ?? '{}')
}

/** The drawing that a text in docs/pictures describes. */
function drawing(path: string): string {
  const source = read(path) ?? ''
  return basename(path) === 'first-minute.txt' ? drawRecording('npm start', source) : draw(source)
}

/** Renders the table of five figures. The text around it is written by hand and stays. */
function performancePage(): string {
  return withTable(read(performancePath) ?? '', 'five figures', fiveBarsTable(benchRuns()))
}

/** Renders the tables of costs and of sizes, which a reader can compute with the text between them. */
function sizingPage(): string {
  const { costs, sizes } = sizingTables(benchRuns())
  return withTable(withTable(read(sizingPath) ?? '', 'costs', costs), 'sizes', sizes)
}

/** Writes a table between its marks. */
function withTable(text: string, name: string, table: string): string {
  const marks = [`<!-- Table of ${name}: written by \`npm run generate\`. -->`, `<!-- End of the ${name}. -->`] as const
  const [before = '', rest] = text.split(marks[0])
  const after = rest?.split(marks[1])[1]
  if (after === undefined) throw new Error(`the page has no place for the table of ${name}`)
  return `${before}${marks[0]}\n\n${table}\n\n${marks[1]}${after}`
}

/** Renders the figures. The text above them is written by hand and stays. */
function figuresPage(): string {
  const mark = '<!-- Figures: written by `npm run bench -- --write`. Do not edit below. -->'
  const [words = ''] = (read(figuresPath) ?? '').split(mark)
  const sections = Object.entries(benchRuns()).map(
    ([bench, run]) => `## ${bench}\n\n${runHeading(run)}.\n\n${tableOf(run.figures)}\n`,
  )
  return `${words}${mark}\n\n${sections.join('\n')}`
}

function page(title: string, source: string, lines: string[]): string {
  return `${[`# ${title}`, '', `<!-- Generated from ${source} by \`npm run generate\`. Do not edit. -->`, '', ...lines].join('\n')}\n`
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return undefined
  }
}

const check = process.argv.includes('--check')
for (const { path, generate } of derived) {
  const text = await generate()
  if (read(path) === text) continue
  if (check) {
    console.error(`${path} is stale: run \`npm run generate\` and commit it`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    console.log(`wrote ${path}`)
  }
}
// Derived from docs/reference/openapi.json, which may just have been written.
if (!check) await import('./api-types.ts')
