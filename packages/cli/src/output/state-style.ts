/** The columns that hold states. What users typed stands in others, and is never coloured. */
const stateColumns = new Set(['status', 'state', 'access', 'ok', 'outcome', 'event'])

const styles = {
  green: new Set(['active', 'delivered', 'accepted', 'yes']),
  yellow: new Set(['inactive', 'suspended', 'pending', 'expired', 'planned', 'not_tried']),
  red: new Set(['revoked', 'deleted', 'failed', 'locked', 'no']),
} as const

/** Of an attack: what was accepted should not have been. */
const verdicts: Record<string, StateStyle> = { refused: 'green', accepted: 'red' }

export type StateStyle = keyof typeof styles

/** The colour of a state, by the column that it stands in. Of events, those that went wrong have one. */
export function stateStyle(column: string, text: string): StateStyle | undefined {
  if (column === 'verdict') return verdicts[text] ?? 'yellow'
  if (!stateColumns.has(column)) return undefined
  if (column === 'event') return /\.(failed|locked|refused|denied)$/.test(text) ? 'red' : undefined
  return (Object.keys(styles) as StateStyle[]).find((style) => styles[style].has(text))
}
