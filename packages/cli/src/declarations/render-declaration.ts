import { unsafe } from '../text/escape-controls.ts'
import { type Declaration, type Entry, nestedFields, type Section, sections } from './declaration.ts'
import type { Field, Fields } from './read-field.ts'

/** A declaration as it stands in a file: of each entry, what is not as it would be anyway. */
export function plainDeclaration(declaration: Declaration): Record<string, object[]> {
  const plain: Record<string, object[]> = {}
  for (const section of Object.keys(sections) as Section[]) {
    const list: Entry[] | undefined = declaration[section]
    if (list) plain[section] = list.map((entry) => plainEntry(entry, sections[section].fields as Fields<never>))
  }
  return plain
}

function plainEntry(entry: object, fields: Fields<never>): Record<string, unknown> {
  const members = Object.entries<Field<unknown>>(fields).flatMap(([key, { standard }]) => {
    const value = (entry as Record<string, unknown>)[key]
    if (standard && isSame(value, standard(entry as Record<string, unknown>))) return []
    const nested = nestedFields[key]
    return [[key, nested ? (value as object[]).map((element) => plainEntry(element, nested)) : value]]
  })
  return Object.fromEntries(members)
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const heading = ' Services, roles and apps, for authctl diff and apply. What is not said of one is as in a new one.'

/** The same as YAML. Characters that hide or reorder text are escaped, wherever it is shown. */
export async function renderDeclaration(declaration: Declaration): Promise<string> {
  const { Document, visit } = await import('yaml')
  const document = new Document(plainDeclaration(declaration), { aliasDuplicateObjects: false })
  document.commentBefore = heading
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && node.value.replaceAll('\n', '').search(unsafe) !== -1) node.type = 'QUOTE_DOUBLE'
    },
  })
  // Only between double quotes is there anything to escape.
  return document.toString({ lineWidth: 0 }).replace(unsafe, (character) => (character === '\n' ? character : escaped(character)))
}

function escaped(character: string): string {
  const hex = character.codePointAt(0)!.toString(16)
  return hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}
