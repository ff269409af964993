// Controls (also C1), separators of lines, and what reorders or hides text: a name that comes from a registration form must not move the cursor,
// set the title of the terminal, or show one address and hold another.
//
// What joins two pictures into one hides nothing.
const joiner = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})/u
export const unsafe = new RegExp(`(?!${joiner.source})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}]`, 'gu')

function escaped(character: string): string {
  // By code unit, as JSON spells them.
  return character.split('').reduce((text, unit) => `${text}\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`, '')
}

/** Text as it may go to a terminal, on one line. */
export function escapeControls(text: string): string {
  return text.replace(unsafe, escaped)
}

/** JSON that shows the same: it escapes some controls itself, and these others are the same string in either spelling. */
export function toJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replace(unsafe, (character) =>
    character === '\n' ? character : escaped(character),
  )
}
