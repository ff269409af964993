/** The columns that hold states. What users typed stands in others, and is never coloured. */
const stateColumns = new Set(['status', 'state', 'access', 'ok', 'outcome', 'event'])

const styles = {
  green: new Set(['active', 'delivered', 'accepted', 'yes']),
  yellow: new Set(['inactive', 'suspended', 'pending', 'expired', 'planned', 'not_tried']),
  red: new Set(['revoked', 'deleted', 'failed', 'locked', 'no']),
} as const

export type StateStyle = keyof typeof styles

/** The colour of a state, by the column that it stands in. Of events, those that went wrong have one. */
export function stateStyle(column: string, text: string): StateStyle | undefined {
  if (!stateColumns.has(column)) return undefined
  if (column === 'event') return /\.(failed|locked|refused|denied)$/.test(text) ? 'red' : undefined
  return (Object.keys(styles) as StateStyle[]).find((style) => styles[style].has(text))
}
