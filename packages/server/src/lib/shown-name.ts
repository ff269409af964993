const maxCharacters = 80
/** Control, zero-width, bidirectional and unassigned characters, which are never shown. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu
/** Characters by which mail programs recognize a web or mail address and make a link of it. */
const linkMakers = /(?<=[\p{L}\p{N}])(?:[.。](?=\p{L})|@(?=[\p{L}\p{N}]))|:(?=\/)/gu

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

/** Like `shownName`, in printable ASCII: no accents, plain quotes and dashes. Undefined if the name has other characters. */
export function shownAsciiName(raw: string): string | undefined {
  const folded = shownName(raw)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c-\u201e]/g, '"')
    .replace(/[\u2010-\u2015]/g, '-')
  return /^[\x20-\x7e]+$/.test(folded) ? folded : undefined
}

/**
 * An e-mail address as it is, for a mail that is about its owner. One that may read as a web address is broken like a name.
 * Undefined if it is not ASCII.
 */
export function shownAddress(email: string): string | undefined {
  return /^[\w.+-]+@[a-z0-9.-]+$/i.test(email) ? email : shownAsciiName(email)
}
