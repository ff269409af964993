// Every mail as it goes out: what a file holds, what mail programs can show of it, and what a reader can say after it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { caniemail } from 'caniemail'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { mails } from '../../packages/cli/src/nouns/mails.ts'
import { createMailer } from '../../packages/server/src/adapters/mailer.ts'
import { describeProgram } from '../../packages/server/src/mail/describe-program.ts'
import { type Sender, sampleMails, writeSample } from '../../packages/server/src/mail/samples.ts'
import { buildPng } from '../support/images.ts'

const shop: Sender = {
  app: {
    name: 'Café Zürich & Söhne',
    code: 'shop',
    brand: {
      accent_color: '#c2410c',
      support_email: 'help@shop.example.com',
      terms_url: 'https://shop.example.com/terms',
    },
    logo: { type: 'image/png', image: buildPng(120, 40, [194, 65, 12, 255]) },
  },
  service: 'login.example.com',
  language: 'en',
}
const plain: Sender = { ...shop, app: { name: 'Shop', code: 'shop', brand: {}, logo: undefined } }

/** A mail as a file of AUTH_MAIL_DIR. Boundaries are random. */
async function fileOf(sender: Sender, name: (typeof sampleMails)[number]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mails-'))
  try {
    const mailer = createMailer({ smtpUrl: undefined, mailFrom: 'Gatehouse <no-reply@example.com>', mailDir: folder })
    await mailer.send({ id: 'message-1', to: 'ada@example.com', at: Date.UTC(2026, 10, 26, 15, 4), ...writeSample(sender, name) })
    const [file] = readdirSync(folder)
    return readFileSync(join(folder, file!), 'utf8').replace(/--_NmP-[0-9a-f]+-Part_(\d+)/g, '--boundary-$1')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test.each(sampleMails)('%s is what was looked at', async (name) => {
  await expect(await fileOf(shop, name)).toMatchFileSnapshot(`../fixtures/mails/${name}.eml`)
})

describe.each(sampleMails)('%s', (name) => {
  test('says which app and which service sent it, why, and how to get help, in each of its parts', async () => {
    const { subject, from, replyTo, text = '', html = '' } = await PostalMime.parse(await fileOf(shop, name))
    expect(from).toMatchObject({ name: 'Café Zürich & Söhne', address: 'no-reply@example.com' })
    expect(replyTo).toMatchObject([{ address: 'help@shop.example.com' }])
    const read = html
      .replace(/<style>.*<\/style>/s, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/&#38;/g, '&')
    for (const part of [text, read].map((part) => part.replace(/\s+/g, ' '))) {
      expect(part).toContain('Café Zürich & Söhne')
      expect(part).toContain('login.example.com sent you this mail for')
      expect(part).toContain('You get it because')
      expect(part).toContain('Help: help@shop.example.com')
    }
    expect(subject).not.toMatch(/undefined|\{/)
    expect(text + html).not.toMatch(/undefined|\[object|\$\{/)
    // Sentences begin with a capital letter.
    expect(text).toMatch(/^Hello,\n\n[A-Z]/)
  })

  test('needs nothing that Gmail, Outlook or Apple Mail cannot do, besides dark mode', () => {
    const programs = [
      'gmail.*',
      'apple-mail.*',
      'outlook.windows',
      'outlook.macos',
      'outlook.outlook-com',
      'outlook.ios',
      'outlook.android',
    ]
    const { issues } = caniemail({ clients: programs as never, html: writeSample(shop, name).html })
    const missing = new Set([...issues.errors].flatMap(([, list]) => list.map(({ title }) => title)))
    // Programs that do not know these show the light mail. A mail without `body` would be no document.
    for (const title of ['@media', '<style> element', '<body> element', 'color-scheme CSS property', 'color-scheme meta tag'])
      missing.delete(title)
    expect([...missing]).toEqual([])
  })
})

test('authctl completes the name of each', () => {
  expect([...mails]).toEqual([...sampleMails])
})

test('the logo travels in the mail, in a size that fits, and nothing is loaded from elsewhere', async () => {
  const { html = '', attachments } = await PostalMime.parse(await fileOf(shop, 'password_changed'))
  expect(attachments).toMatchObject([{ mimeType: 'image/png', disposition: 'inline', contentId: '<logo@gatehouse>' }])
  expect(html).toMatch(/<img src="cid:logo@gatehouse" alt="" width="120" height="40"/)
  expect(html).not.toMatch(/src="http|url\(|<link/)
  expect((await PostalMime.parse(await fileOf(plain, 'password_changed'))).attachments).toEqual([])
})

test('a mail in ASCII stays in 7bit, with each link in a line of its own', async () => {
  const file = await fileOf(plain, 'reset_password')
  expect(file).toContain('Content-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n')
  expect(file.split('\r\n').filter((line) => /^https:\S+$/.test(line))).toHaveLength(1)
})

test('a program is named in our words, whatever it says of itself', () => {
  const named = (userAgent: string) => Object.values(describeProgram(userAgent)).join(' on ')
  const chrome = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
  expect(named(chrome)).toBe('Chrome on Windows')
  expect(named(`${chrome} Edg/131.0.0.0`)).toBe('Edge on Windows')
  expect(named('Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0')).toBe('Firefox on Linux')
  const iPhone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) '
  expect(named(`${iPhone}Version/18.1 Mobile/15E148 Safari/604.1`)).toBe('Safari on iPhone')
  expect(named('Mozilla/5.0 (Linux; Android 14; SM-S918B) SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36')).toBe(
    'Samsung Internet on Android',
  )
  expect(describeProgram('http://evil.example/ click')).toEqual({ program: undefined, system: undefined })
})
