import { createRequire } from 'node:module'

type StringWidth = typeof import('string-width').default

const load = createRequire(import.meta.url)
let stringWidth: StringWidth | undefined

/** How many columns of a terminal the text takes. */
export function widthOf(text: string): number {
  if (/^[ -~…]*$/.test(text)) return text.length
  // Loaded late: its table of characters takes as long to load as Node itself, and most cells need no table.
  stringWidth ??= (load('string-width') as { default: StringWidth }).default
  return stringWidth(text)
}
