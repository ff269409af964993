import { z } from 'zod'
import { languages } from './locale.ts'

/** What the pages and mails of an app show of it, besides its name and its logo. */
export const brandRecord = z.object({
  /** As `#rrggbb`, in lower case. */
  accent_color: z.string().nullable(),
  support_email: z.string().nullable(),
  support_url: z.string().nullable(),
  terms_url: z.string().nullable(),
  privacy_url: z.string().nullable(),
  from_name: z.string().nullable(),
  default_language: z.enum(languages).nullable(),
})
export type Brand = z.output<typeof brandRecord>

export const blankBrand: Brand = {
  accent_color: null,
  support_email: null,
  support_url: null,
  terms_url: null,
  privacy_url: null,
  from_name: null,
  default_language: null,
}

/** How long a side of a logo may be. */
export const mostLogoPixels = 1_024

/** Where a logo is served, below the address of the service. Another image has another path. */
export function logoPath(digest: string): string {
  return `/logos/${digest}`
}

/** The cards of pages and mails, on which the accent color lies. */
export const cards = { light: '#ffffff', dark: '#181d24' } as const

const leastContrast = 3

/** Whether a color can be told from the card in both color schemes. */
export function isVisibleAccent(color: string): boolean {
  return contrast(color, cards.light) >= leastContrast && contrast(color, cards.dark) >= leastContrast
}

/** The color with the same hue that can be told from both cards, and differs least. */
export function nearestAccent(color: string): string {
  for (let step = 1; step <= 100; step += 1) {
    for (const end of ['#000000', '#ffffff']) {
      const mixed = mix(color, end, step / 100)
      if (isVisibleAccent(mixed)) return mixed
    }
  }
  return color
}

/** Black or white, whichever contrasts more. */
export function textOn(color: string): '#000000' | '#ffffff' {
  return contrast(color, '#ffffff') > contrast(color, '#000000') ? '#ffffff' : '#000000'
}

/** The contrast of two colors as WCAG defines it, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(color: string, end: string, share: number): string {
  const ends = channels(end)
  const mixed = channels(color).map((value, index) => Math.round(value + ((ends[index] ?? 0) - value) * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}

const maxCharacters = 80
/** Control, zero-width, bidirectional and unassigned characters, which are never shown. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu
/** Characters by which mail programs recognize a web or mail address and make a link of it, or an encoded word and decode it. */
const linkMakers = /(?<=[\p{L}\p{N}])(?:[.。](?=\p{L})|@(?=[\p{L}\p{N}]))|:(?=\/)|=(?=\?)/gu

/**
 * Prepares an untrusted name for a mail: one short line without hidden characters, and without anything that a mail program turns
 * into a link. HTML must still escape it.
 */
export function shownName(raw: string): string {
  const line = raw.normalize('NFKC').replace(/\s+/gu, ' ').replace(invisible, '').trim()
  const broken = line.replace(linkMakers, '$& ')
  const characters = [...broken]
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join('').trimEnd()}...` : broken
}

/**
 * An e-mail address as it is, for a mail that is about its owner. One that may read as a web address is broken like a name.
 */
export function shownAddress(email: string): string {
  return /^[\w.+-]+@[a-z0-9.-]+$/i.test(email) ? email : shownName(email)
}
