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
