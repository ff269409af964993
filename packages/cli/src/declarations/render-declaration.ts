import { unsafe } from '../text/escape-controls.ts'
import { isSame, type Kind, kinds, sections } from './declaration.ts'
import { isObject } from './fields.ts'
import { type Declaration, standardsOf } from './schema.ts'

/** A declaration as a file holds it: each entry with only the fields that differ from their defaults. */
export function plainDeclaration(declaration: Declaration): Record<string, object[]> {
  const plain: Record<string, object[]> = {}
  for (const section of sections) {
    const list: object[] | undefined = declaration[section]
    if (list) plain[section] = list.map((entry) => plainEntry(kinds[section], entry))
  }
  return plain
}

function plainEntry(kind: Kind | 'webhook' | 'brand', entry: object): object {
  const values: Record<string, unknown> = { ...entry }
  const members = [...standardsOf(kind, entry)].flatMap(([field, standard]) => {
    const value = values[field]
    if (standard && isSame(value, standard.value)) return []
    const isNested = field === 'webhooks' && Array.isArray(value)
    if (field === 'brand' && isObject(value)) return [[field, plainEntry('brand', value)]]
    return [[field, isNested ? value.map((webhook: object) => plainEntry('webhook', webhook)) : value]]
  })
  return Object.fromEntries(members)
}

const heading = ' Services, roles and apps, for authctl diff and apply. A field that is left out has its default.'

/** Renders a declaration as YAML, without default values. Characters that hide or reorder text are escaped. */
export async function renderDeclaration(declaration: Declaration): Promise<string> {
  const { Document, visit } = await import('yaml')
  const document = new Document(plainDeclaration(declaration), { aliasDuplicateObjects: false })
  document.commentBefore = heading
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && node.value.replaceAll('\n', '').search(unsafe) !== -1) node.type = 'QUOTE_DOUBLE'
    },
  })
  // At this point, such characters occur only between double quotes.
  return document.toString({ lineWidth: 0 }).replace(unsafe, (character) => (character === '\n' ? character : escaped(character)))
}

function escaped(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16)
  return hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}
