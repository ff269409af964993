// The pictures of docs/pictures, which `npm run pictures` draws.
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { sampleMails } from '../../packages/server/src/mail/samples.ts'
import { pictured, sheets } from '../support/contact-sheet.ts'

const docs = fileURLToPath(new URL('../../docs', import.meta.url))
const pages = globSync('*/*.md', { cwd: docs })
  .map((name) => readFileSync(join(docs, name), 'utf8'))
  .join('')

// The tests in a browser ask the same of each state of a page.
test('every mail is in a picture', () => {
  expect(sampleMails.filter((name) => !pictured.includes(`mail-${name}`))).toEqual([])
})

test('every picture has a sheet, and every sheet has a picture', () => {
  const drawn = readdirSync(join(docs, 'pictures')).filter((name) => /^(mails|pages)-.*png$/.test(name))
  expect(drawn.sort()).toEqual(
    Object.keys(sheets)
      .map((name) => `${name}.png`)
      .sort(),
  )
})

test.each(Object.keys(sheets))('%s is small enough, and a page of the docs shows and describes it', (name) => {
  expect(statSync(join(docs, 'pictures', `${name}.png`)).size).toBeLessThan(400_000)
  expect(pages).toMatch(new RegExp(`!\\[[^\\]]{60,}\\]\\(../pictures/${name}\\.png\\)`))
})
