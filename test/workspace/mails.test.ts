// Every mail as it goes out: what a file holds, what mail programs can show of it, and what a reader can say after it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { caniemail } from 'caniemail'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { mails } from '../../packages/cli/src/nouns/mails.ts'
import { createMailer } from '../../packages/server/src/adapters/mailer.ts'
import { type Language, languages } from '../../packages/server/src/lib/locale.ts'
import { describeProgram } from '../../packages/server/src/mail/describe-program.ts'
import { type Sender, sampleMails, writeSample } from '../../packages/server/src/mail/samples.ts'
import { actionMail, catalogs } from '../../packages/server/src/mail/templates.ts'
import type { MailTexts } from '../../packages/server/src/mail/texts/mail-texts.ts'
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

function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Words that no other language of ours has. */
const englishWords =
  /\b(?:the|you|your|this|that|these|with|and|not|someone|somebody|sign|signed|if|have|hello|for|from|by|get|when|where|because|is|it|its|of|to|be|been|deleted|changed|removed|added|asked|any|anyone|until|now|new|who|what|which|there|here|help|address|user|access|works?)\b/gi

/** The English words in a text, without addresses and without what others have written. */
function english(text: string): string[] {
  const own = text.replace(/https?:\S+|\S+@\S+|authctl grant request \w+ \S+/g, '').replaceAll('Ask your manager first', '')
  return own.match(englishWords) ?? []
}

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

test.each(sampleMails)('the mail %s equals its reviewed copy', async (name) => {
  await expect(await fileOf(shop, name)).toMatchFileSnapshot(`../fixtures/mails/${name}.eml`)
})

// They differ from the English ones in nothing but words.
test.each(languages.filter((language) => language !== 'en'))('the mails in %s equal their reviewed texts', async (language) => {
  const said = sampleMails.map((name) => {
    const { subject, text } = writeSample({ ...shop, language }, name)
    return `# ${name}\n\nSubject: ${subject}\n\n${text.trim()}\n`
  })
  await expect(said.join('\n')).toMatchFileSnapshot(`../fixtures/mails/${language}.txt`)
})

describe.each(languages.flatMap((language) => sampleMails.map((name) => [name, language] as const)))(
  '%s (%s)',
  (name, language) => {
    const sender = { ...shop, language }
    const { hello, sentFor, because, help } = catalogs[language]

    test('the mail names its app, its service, its reason and a way to get help, in each of its parts', async () => {
      const { subject = '', from, replyTo, text = '', html = '' } = await PostalMime.parse(await fileOf(sender, name))
      expect(from).toMatchObject({ name: 'Café Zürich & Söhne', address: 'no-reply@example.com' })
      expect(replyTo).toMatchObject([{ address: 'help@shop.example.com' }])
      const read = html
        .replace(/<style>.*<\/style>/s, '')
        .replace(/<[^>]*>/g, ' ')
        .replace(/&#38;/g, '&')
        .replace(/&#39;/g, "'")
        .replace(/&#34;/g, '"')
      for (const part of [text, read].map(inOneLine)) {
        expect(part).toContain(inOneLine(sentFor('login.example.com', 'Café Zürich & Söhne')))
        expect(Object.values(because).some((reason) => part.includes(inOneLine(reason)))).toBe(true)
        expect(part).toContain(inOneLine(help('help@shop.example.com')))
        if (language !== 'en') expect(english(part)).toEqual([])
      }
      if (language !== 'en') expect(english(subject)).toEqual([])
      expect(subject).not.toMatch(/undefined|\{/)
      expect(text + html).not.toMatch(/undefined|\[object|\$\{/)
      expect(html).toContain(`<html lang="${language}">`)
      // Sentences begin with a capital letter.
      expect(text.startsWith(`${hello}\n\n`)).toBe(true)
      expect(text.slice(hello.length + 2)).toMatch(/^\p{Lu}/u)
    })

    test('the mail uses only features of Gmail, Outlook and Apple Mail, except for dark mode', () => {
      const programs = [
        'gmail.*',
        'apple-mail.*',
        'outlook.windows',
        'outlook.macos',
        'outlook.outlook-com',
        'outlook.ios',
        'outlook.android',
      ]
      const { issues } = caniemail({ clients: programs as never, html: writeSample(sender, name).html })
      const missing = new Set([...issues.errors].flatMap(([, list]) => list.map(({ title }) => title)))
      // Programs that do not know these show the light mail. A mail without `body` would be no document.
      for (const title of ['@media', '<style> element', '<body> element', 'color-scheme CSS property', 'color-scheme meta tag'])
        missing.delete(title)
      expect([...missing]).toEqual([])
    })
  },
)

/** What a catalog says for the same values, by where it says it. */
function saidIn(texts: object, path = ''): [string, string][] {
  return Object.entries(texts).flatMap(([key, value]): [string, string][] => {
    const at = `${path}/${key}`
    if (typeof value === 'string') return [[at, value]]
    if (typeof value !== 'function') return saidIn(value, at)
    return [[at, value('«0»', '«1»')], ...(key === 'contact' ? [[`${at}?`, value('«0»')] as [string, string]] : [])]
  })
}

describe.each(languages.filter((language) => language !== 'en'))('the catalog of %s', (language: Language) => {
  const said = new Map(saidIn(catalogs[language]))
  test.each(saidIn(catalogs.en))('the catalog says %s in its own words, with the same values', (at, inEnglish) => {
    const values = (text: string) => [...new Set(text.match(/«\d»/g))].sort()
    const text = said.get(at) ?? ''
    expect(values(text)).toEqual(values(inEnglish))
    // A label with a colon is the same in most languages.
    if (at !== '/leadsTo') expect(text).not.toBe(inEnglish)
    expect(text.trim()).toBe(text)
  })

  test('the catalog has no further texts', () => {
    expect([...said.keys()].sort()).toEqual(
      saidIn(catalogs.en)
        .map(([at]) => at)
        .sort(),
    )
  })
})

test('a catalog with a missing or an additional text does not compile', () => {
  const { hello: _, ...rest } = catalogs.en
  // @ts-expect-error: one is missing.
  const short: MailTexts = rest
  // @ts-expect-error: nobody says this one.
  const long: MailTexts = { ...catalogs.en, goodbye: 'Goodbye' }
  expect([short, long]).toHaveLength(2)
})

test('a notice gives time and place in the words of its reader', async () => {
  const placeOf = async (language: Language) => {
    const { text = '' } = await PostalMime.parse(await fileOf({ ...shop, language }, 'password_changed'))
    return inOneLine(text.split('\n\n')[2] ?? '')
  }
  expect(await Promise.all(languages.map(placeOf))).toEqual([
    'When and where: Chrome on Windows, 26 November 2026, 15:04 UTC, from 203.0.113.7',
    'Wann und wo: Chrome unter Windows, 26. November 2026, 15:04 UTC, von 203.0.113.7',
    'Quand et où : Chrome sous Windows, 26 novembre 2026, 15:04 UTC, depuis 203.0.113.7',
    'Cuándo y dónde: Chrome en Windows, 26 de noviembre de 2026, 15:04 UTC, desde 203.0.113.7',
    'Quando e dove: Chrome su Windows, 26 novembre 2026, 15:04 UTC, da 203.0.113.7',
    'Quando e onde: Chrome no Windows, 26 de novembro de 2026, 15:04 UTC, a partir de 203.0.113.7',
  ])
})

test('each mail gives the true reason why its reader gets it', () => {
  const { because } = catalogs.en
  const said = Object.entries(because).map(([reason, text]) => [
    reason,
    sampleMails.filter((name) => inOneLine(writeSample(plain, name).text).includes(text)),
  ])
  expect(Object.fromEntries(said)).toEqual({
    asked: ['verify_email', 'change_email', 'reset_password', 'magic_link'],
    askedInside: ['allow_email_change', 'delete_account', 'email_change_requested', 'account_deleted'],
    changed: [
      ...['undo_email_change', 'password_changed', 'password_reset', 'two_factor_activated', 'two_factor_disabled'],
      ...[
        'two_factor_removed',
        'recovery_codes_renewed',
        'credentials_removed',
        'identity_linked',
        'identity_unlinked',
        'identity_removed',
      ],
      ...['passkey_added', 'passkey_removed'],
    ],
    tried: ['two_factor_locked'],
    signedIn: ['new_sign_in'],
    invited: ['invitation'],
    administers: ['access_requested'],
    requested: ['access_approved', 'access_denied'],
    tested: ['test'],
  })
})

test('a mail mentions a code only if it has one', () => {
  const facts = { link: 'https://x.example/', origin: { at: 0, ip: null, userAgent: null }, newEmail: null, disownLink: '' }
  for (const language of languages) {
    const write = (code: string | undefined) => actionMail({ ...plain, language }, 'magic_link', { ...facts, code }).text
    const codeWord = /\bc(?:ode|odes|ódigo|odice)\b/i
    expect([codeWord.test(write('123456')), codeWord.test(write(undefined))]).toEqual([true, false])
  }
})

test('authctl completes the name of each mail', () => {
  expect([...mails]).toEqual([...sampleMails])
})

test('the logo travels in the mail, in a size that fits, and nothing is loaded from elsewhere', async () => {
  const { html = '', attachments } = await PostalMime.parse(await fileOf(shop, 'password_changed'))
  expect(attachments).toMatchObject([{ mimeType: 'image/png', disposition: 'inline', contentId: '<logo@gatehouse>' }])
  expect(html).toMatch(/<img src="cid:logo@gatehouse" alt="" width="120" height="40"/)
  expect(html).not.toMatch(/src="http|url\(|<link/)
  expect((await PostalMime.parse(await fileOf(plain, 'password_changed'))).attachments).toEqual([])
})

test('a mail in ASCII stays in 7bit, with each link on its own line', async () => {
  const file = await fileOf(plain, 'reset_password')
  expect(file).toContain('Content-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n')
  expect(file.split('\r\n').filter((line) => /^https:\S+$/.test(line))).toHaveLength(1)
})

test('a program is named in our words, whatever it calls itself', () => {
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
