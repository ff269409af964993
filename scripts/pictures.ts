// `npm run pictures` draws the pictures of docs/pictures anew: every mail and every page, as the tests in a browser show them.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawSheets, sheets } from '../test/support/contact-sheet.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const shots = join(root, '.runtime/pictures')
mkdirSync(shots, { recursive: true })

const tests = ['e2e/mails', 'e2e/sign-in-page-states']
const env = { ...process.env, SCREENSHOTS: shots }
const { status } = spawnSync(process.execPath, [join(root, 'scripts/test.ts'), ...tests], { cwd: root, env, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

copyFileSync(join(shots, 'mail-magic_link-light-600.png'), join(root, 'docs/mail.png'))
copyFileSync(join(shots, 'password-light-1280.png'), join(root, 'docs/sign-in-page.png'))
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
