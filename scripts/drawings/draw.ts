import { type Description, describe } from './describe.ts'
import { drawFlow } from './flow.ts'
import { drawMap } from './map.ts'
import { drawSequence } from './sequence.ts'
import { drawTimeline } from './timeline.ts'

const kinds: Record<string, (description: Description) => string> = {
  flow: drawFlow,
  map: drawMap,
  sequence: drawSequence,
  timeline: drawTimeline,
}

/** Draws what a text describes. */
export function draw(source: string): string {
  const description = describe(source)
  const drawKind = kinds[description.kind]
  if (!drawKind) throw new Error(`"${description.kind}" is not a kind of drawing: ${Object.keys(kinds).join(', ')}`)
  return drawKind(description)
}
