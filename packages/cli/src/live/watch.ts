import type { Api } from '../api/api-client.ts'
import { bodyOf } from '../api/api-client.ts'
import { toFailure } from '../command-line/exit-codes.ts'
import type { AuditEvent } from '../nouns/audit-events.ts'
import { readStats, type Stats } from '../nouns/stats.ts'
import { withTriedEmail } from '../nouns/tried-email.ts'
import { choices, draw, type Line, type Place, type Room } from './draw.ts'
import { sections, type Trail } from './sections.ts'

const refreshMs = 2_000
/** At most this many events of a trail are read. A filter by reason applies to these. */
const mostEvents = 200

/** The keys that the screen reacts to. */
export type KeyName = 'up' | 'down' | 'enter' | 'back'

interface Watching {
  api: Api
  where: string
  /** The moment from which logins are counted, computed with each call. */
  since(): string | undefined
  sleep(milliseconds: number): Promise<void>
  /** The first figures, read before the screen opens. */
  stats: Stats
  show(lines: Line[]): void
  room(): Room
}

/** The state of the screen, and what the keys do. */
export class Watch {
  readonly #watching: Watching
  /** The last entry is where the user is; the others are the way back. */
  readonly #path: Place[] = [{ kind: 'overview', selected: 0 }]
  #stats: Stats
  #events: readonly AuditEvent[] | undefined
  #trouble: string | undefined

  constructor(watching: Watching) {
    this.#watching = watching
    this.#stats = watching.stats
  }

  /** Refreshes the screen until a failure that another refresh cannot fix, such as the end of the session. Throws it. */
  async run(): Promise<never> {
    for (;;) {
      this.redraw()
      await this.#watching.sleep(refreshMs)
      await this.#refresh()
    }
  }

  redraw(): void {
    const { where, show, room } = this.#watching
    const seen = { where, stats: this.#stats, events: this.#events, trouble: this.#trouble }
    const place = this.#place
    place.selected = Math.max(0, Math.min(place.selected, choices(place, seen) - 1))
    show(draw(place, seen, room()))
  }

  press(key: KeyName): void {
    const place = this.#place
    if (key === 'up') place.selected -= 1
    if (key === 'down') place.selected += 1
    if (key === 'back' && this.#path.length > 1) this.#path.pop()
    if (key === 'enter') this.#enter(place)
    this.redraw()
  }

  get #place(): Place {
    return this.#path.at(-1)!
  }

  #enter(place: Place): void {
    if (place.kind === 'overview') {
      const section = sections[place.selected]
      if (section) this.#path.push({ kind: 'list', section, selected: 0 })
    } else if (place.kind === 'list') {
      const trail = place.section.leadsTo(this.#stats, place.selected)
      if (trail) this.#follow(trail)
    }
  }

  #follow(trail: Trail): void {
    this.#events = undefined
    this.#path.push({ kind: 'trail', trail, selected: 0 })
    // Ignores a failure: the next refresh fails in the same way.
    this.#refresh().then(
      () => this.redraw(),
      () => {},
    )
  }

  async #refresh(): Promise<void> {
    const { api, since } = this.#watching
    const place = this.#place
    try {
      this.#stats = await readStats(api, since())
      if (place.kind === 'trail') {
        const events = await readTrail(api, place.trail)
        // The user may have moved on meanwhile.
        if (place === this.#place) this.#events = events
      }
      this.#trouble = undefined
    } catch (thrown) {
      const failure = toFailure(thrown)
      if (failure.ending !== 'unreachable') throw failure
      this.#trouble = failure.message
    }
  }
}

async function readTrail(api: Api, { query, reason }: Trail): Promise<AuditEvent[]> {
  const params = { query: { ...query, limit: mostEvents } }
  const { items } = await bodyOf(api.GET('/api/v1/admin/audit', { params }))
  return items.filter((event) => reason === undefined || event.reason === reason).map(withTriedEmail)
}
