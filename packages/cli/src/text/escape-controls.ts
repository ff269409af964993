// Control characters (also C1), line separators, and characters that reorder or hide text. A name from a registration form must
// not move the cursor, set the title of the terminal, or show one address and hold another.
//
// A joiner between two emoji hides nothing.
const joiner = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})/u
// The set comes first: V8 looks for it three times faster than for a lookaround.
export const unsafe = new RegExp(`[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}](?<!${joiner.source})`, 'gu')

function escaped(character: string): string {
  // By code unit, as in JSON.
  return character.split('').reduce((text, unit) => `${text}\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`, '')
}

/** Makes text safe for one line of a terminal. */
export function escapeControls(text: string): string {
  return text.replace(unsafe, escaped)
}

/**
 * JSON that is safe to show. Characters that JSON.stringify leaves as they are get escaped too, which does not change the value.
 */
export function toJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replace(unsafe, (character) =>
    character === '\n' ? character : escaped(character),
  )
}
