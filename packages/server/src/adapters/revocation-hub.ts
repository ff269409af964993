import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FeedForm } from '../lib/caller.ts'
import { Turns } from './turns.ts'

/** An event on its way to the streams, written once for all of them. */
export interface HubEvent {
  cursor: number
  /** Null is for the consumers of every app. */
  appId: string | null
  /** The least that a reader has to understand. */
  form: FeedForm
  frame: Buffer
}

export interface StreamOwner {
  appId: string
  /** As the assertion gave them. */
  kids: readonly string[]
  form: FeedForm
}

export interface HubLimits {
  /** Streams of this process; more are refused. */
  streams: number
  /** Bytes that may wait for one reader, beside what its socket holds. A slower one is dropped and resumes from the database. */
  waitingBytes: number
  heartbeatMs: number
}

const usualLimits: HubLimits = { streams: 10_000, waitingBytes: 256 * 1024, heartbeatMs: 15_000 }
/** Streams written to before other work gets its turn. */
const sliceSize = 100
/** Streams that catch up from the database at once: after a restart all of them come back, and logins need connections too. */
const readersAtOnce = 2
const lastWordsMs = 500
const opening = Buffer.from(': open\n\n')
const heartbeat = Buffer.from(': heartbeat\n\n')

/** The answer to one consumer that listens. It is written by the hub, once it has caught up from the database. */
export class ConsumerStream extends Readable {
  readonly owner: StreamOwner
  /** Every event up to this cursor was written. */
  sentThrough = 0
  isLive = false
  readonly #waitingBytes: number
  #isFinished = false
  #hasRead = true
  #onRead: (() => void) | undefined

  constructor(owner: StreamOwner, waitingBytes: number) {
    super({ highWaterMark: 16 * 1024 })
    this.owner = owner
    this.#waitingBytes = waitingBytes
    this.push(opening)
  }

  /** Writes, or drops the reader when too much waits for it already. */
  send(chunk: Buffer): void {
    if (this.destroyed || this.#isFinished || chunk.length === 0) return
    if (this.readableLength > 0 && this.readableLength + chunk.length > this.#waitingBytes) this.destroy()
    else this.push(chunk)
  }

  /** Resolves when the reader has taken most of what was written, or is gone. */
  async drained(): Promise<void> {
    if (this.destroyed || this.readableLength < this.readableHighWaterMark) return
    await new Promise<void>((resolve) => {
      this.#onRead = resolve
    })
  }

  /** Proves to the reader that the server is there, and finds out whether the reader is. */
  beat(): void {
    if (this.readableLength === 0) this.send(heartbeat)
    else if (!this.#hasRead) this.destroy()
    this.#hasRead = false
  }

  /** Ends the answer. A reader that does not take the rest at once reads it from the database when it comes back. */
  finish(): void {
    if (this.destroyed || this.#isFinished) return
    this.#isFinished = true
    this.push(null)
    setTimeout(() => this.destroy(), lastWordsMs).unref()
  }

  override _read(): void {
    this.#hasRead = true
    this.#onRead?.()
    this.#onRead = undefined
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#onRead?.()
    done(error)
  }
}

/**
 * Passes revocations to the consumers that listen to this process. One reader of the table hands them in (`workers/revocation-feed.ts`);
 * a stream that joins has caught up from the database by itself.
 */
export class RevocationHub {
  /** Every event up to this cursor was published. */
  head = 0
  /** Called when there may be something new in the table. */
  onWake: () => void = () => {}
  /** For streams that read from the database. */
  readonly readers = new Turns(readersAtOnce)
  readonly #limits: HubLimits
  readonly #streams = new Map<string, Set<ConsumerStream>>()
  #count = 0
  #isClosed = false
  #beating: NodeJS.Timeout | undefined

  constructor(limits: Partial<HubLimits> = {}) {
    this.#limits = { ...usualLimits, ...limits }
  }

  get streamCount(): number {
    return this.#count
  }

  wake(): void {
    this.onWake()
  }

  /** A stream for a consumer; undefined when there are too many, or the server is stopping. It gets nothing before `join`. */
  open(owner: StreamOwner): ConsumerStream | undefined {
    if (this.#isClosed || this.#count >= this.#limits.streams) return undefined
    const stream = new ConsumerStream(owner, this.#limits.waitingBytes)
    const ofApp = this.#streams.get(owner.appId) ?? new Set()
    this.#streams.set(owner.appId, ofApp.add(stream))
    this.#count += 1
    this.#beating ??= setInterval(() => void this.#beat(), this.#limits.heartbeatMs)
    stream.once('close', () => this.#remove(stream))
    return stream
  }

  /**
   * Lets a stream have what is published from now on. False when it has not caught up with what was: between its last read and this
   * call nothing may be published that it would miss.
   */
  join(stream: ConsumerStream): boolean {
    if (stream.sentThrough < this.head) return false
    stream.isLive = true
    return true
  }

  /** Writes events, in the order of their cursors and all up to `head`, to the streams that they concern. */
  async publish(events: readonly HubEvent[], head: number): Promise<void> {
    this.head = head
    const first = events[0]
    if (!first) return
    let written = 0
    for (const [appId, streams] of [...this.#streams]) {
      const concerned = events.filter((event) => event.appId === null || event.appId === appId)
      if (concerned.length === 0) continue
      const portions = [1, 2].map((form) => portionOf(concerned.filter((event) => event.form <= form)))
      for (const stream of [...streams]) {
        if (!stream.isLive) continue
        const { sentThrough, owner } = stream
        const { events, chunk } = portions[owner.form - 1]!
        // One that read ahead of the hub has a part of this already.
        const isFresh = sentThrough < first.cursor
        stream.send(isFresh ? chunk : portionOf(events.filter(({ cursor }) => cursor > sentThrough)).chunk)
        stream.sentThrough = Math.max(sentThrough, head)
        written += 1
        if (written % sliceSize === 0) await nextTurn()
      }
    }
    // Readers take what is there before the next portion comes.
    await nextTurn()
  }

  /** Whose streams are open, each app and set of secrets once. */
  owners(): StreamOwner[] {
    const owners = new Map<string, StreamOwner>()
    for (const { owner } of this.#all()) owners.set([owner.appId, ...owner.kids].join(), owner)
    return [...owners.values()]
  }

  /** Ends the streams of an app. */
  endApp(appId: string): void {
    for (const stream of [...(this.#streams.get(appId) ?? [])]) stream.finish()
  }

  /** Ends every stream and takes no more. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.#all()) stream.finish()
  }

  async #beat(): Promise<void> {
    for (const [index, stream] of this.#all().entries()) {
      stream.beat()
      if ((index + 1) % sliceSize === 0) await nextTurn()
    }
  }

  #all(): ConsumerStream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams])
  }

  #remove(stream: ConsumerStream): void {
    const ofApp = this.#streams.get(stream.owner.appId)
    if (!ofApp?.delete(stream)) return
    this.#count -= 1
    if (ofApp.size === 0) this.#streams.delete(stream.owner.appId)
    if (this.#count > 0) return
    clearInterval(this.#beating)
    this.#beating = undefined
  }
}

/** Events, and what they are on the wire. */
function portionOf(events: readonly HubEvent[]): { events: readonly HubEvent[]; chunk: Buffer } {
  return { events, chunk: Buffer.concat(events.map(({ frame }) => frame)) }
}
