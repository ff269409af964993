// `npm run pictures` updates docs/pictures: every mail and every page, as the tests in a browser show them.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawSheets, pictured, sheets } from '../test/support/contact-sheet.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const shots = join(root, '.runtime/pictures')
rmSync(shots, { recursive: true, force: true })
mkdirSync(shots, { recursive: true })

const tests = ['e2e/mails', 'e2e/sign-in-page-states']
const env = { ...process.env, SCREENSHOTS: shots }
const { status } = spawnSync(process.execPath, [join(root, 'scripts/test.ts'), ...tests], { cwd: root, env, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

copyFileSync(join(shots, 'mail-magic_link-light-600.png'), join(root, 'docs/pictures/mail.png'))
copyFileSync(join(shots, 'password-light-1280.png'), join(root, 'docs/pictures/sign-in-page.png'))

// What is new comes into sheets of its own, until somebody moves it to where it belongs.
const suffix = '-light-360.png'
const taken = readdirSync(shots).flatMap((file) => (file.endsWith(suffix) ? [file.slice(0, -suffix.length)] : []))
for (const name of taken.filter((name) => !pictured.includes(name)).sort()) {
  const sheet = name.startsWith('mail-') ? 'mails-new' : 'pages-new'
  sheets[sheet] = [...(sheets[sheet] ?? []), name]
}
writeFileSync(join(root, 'docs/pictures/sheets.json'), `${JSON.stringify(sheets, undefined, 2)}\n`)

const picture = (name: string, scheme: string) => readFileSync(join(shots, `${name}-${scheme}-360.png`))
const tiles = Object.entries(sheets).map(([sheet, names]) => [
  sheet,
  names.map((name) => ({ caption: name, pictures: [picture(name, 'light'), picture(name, 'dark')] })),
])
for (const [sheet, png] of Object.entries(await drawSheets(Object.fromEntries(tiles)))) {
  const path = join('docs/pictures', `${sheet}.png`)
  writeFileSync(join(root, path), png)
  console.log(`wrote ${path}: ${Math.round(png.length / 1_000)} kB`)
}
