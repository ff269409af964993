// Every mail as a mail program shows it: on a telephone, in a window, in the light and in the dark.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { languages } from '../../packages/server/src/lib/locale.ts'
import { type Sender, sampleMails, writeSample } from '../../packages/server/src/mail/samples.ts'
import { openBrowser } from '../support/browser.ts'
import { buildLogo } from '../support/images.ts'
import { isFastLane } from '../support/lane.ts'

/** The folder for pictures. Without it none are saved. */
const shots = process.env.SCREENSHOTS
const browser = openBrowser()
const sender: Sender = {
  app: {
    name: 'Café Zürich & Söhne',
    code: 'shop',
    brand: { accent_color: '#c2410c', support_email: 'help@shop.example.com' },
    logo: { type: 'image/png', image: buildLogo([194, 65, 12]) },
  },
  service: 'login.example.com',
  language: 'en',
}

/** A mail with its logo in place. */
function shown(sender: Sender, name: (typeof sampleMails)[number]): string {
  const { html, logo } = writeSample(sender, name)
  return html.replace(/cid:[\w@]+/, `data:${logo?.type};base64,${logo?.image.toString('base64')}`)
}

const schemes = isFastLane ? (['light'] as const) : (['light', 'dark'] as const)
const widths = isFastLane ? [360] : [320, 360, 600, 1280]

describe.each(sampleMails)('the mail %s', (name) => {
  test.each(schemes)('the mail fits every width and can be read in the %s', async (colorScheme) => {
    const page = await browser.newPage({ colorScheme })
    await page.setContent(shown(sender, name))
    for (const width of widths) {
      await page.setViewportSize({ width, height: 320 })
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`).toBe(true)
      if (shots) await page.screenshot({ path: join(shots, `mail-${name}-${colorScheme}-${width}.png`), fullPage: true })
    }
    expect(await page.evaluate(contrastFaults)).toEqual([])
  })
})

test.skipIf(isFastLane).each(languages)('every mail fits the narrowest telephone (%s)', async (language) => {
  const page = await browser.newPage({ viewport: { width: 320, height: 640 } })
  for (const name of sampleMails) {
    await page.setContent(shown({ ...sender, language }, name))
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), name).toBe(true)
    if (shots) await page.screenshot({ path: join(shots, `mail-${name}-${language}.png`), fullPage: true })
  }
})

test.each(['reset_password', 'magic_link'] as const)('two or three clicks select the code of %s as a whole', async (name) => {
  const page = await browser.newPage({ viewport: { width: 320, height: 640 } })
  await page.setContent(shown(sender, name))
  const code = page.getByText('482915', { exact: true })
  for (const clickCount of [2, 3]) {
    await code.click({ clickCount, position: { x: 30, y: 30 } })
    expect(await page.evaluate('getSelection().toString().trim()')).toBe('482915')
  }
  expect(
    await page.evaluate("[...document.querySelectorAll('td')].filter((cell) => cell.scrollWidth > cell.clientWidth)"),
  ).toEqual([])
})

/** The texts that contrast with their ground at less than 4.5:1, or 3:1 if they are large. */
const contrastFaults = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const light = (color) => parse(color).slice(0, 3).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }).reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0)
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (parse(color)[3] !== 0) return color
    }
    return 'rgb(255, 255, 255)'
  }
  const faults = []
  for (const element of document.body.querySelectorAll('td, a')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '')
    if (!own) continue
    const [low, high] = [light(getComputedStyle(element).color), light(groundOf(element))].sort((a, b) => a - b)
    const contrast = (high + 0.05) / (low + 0.05)
    if (contrast < 4.5) faults.push(element.textContent.trim() + ' ' + contrast.toFixed(2))
  }
  return faults
})()`
