import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FeedForm } from '../lib/caller.ts'
import { type Snapshot, sees } from '../lib/feed-cursors.ts'

/** An event for the streams, serialized once for all of them. */
export interface HubEvent {
  /** The transaction that wrote it, or its number on SQLite. */
  position: number
  /** Null for the consumers of every app. */
  appId: string | null
  /** The lowest form that a reader must understand to receive it. */
  form: FeedForm
  frame: Buffer
}

export interface StreamOwner {
  appId: string
  appCode: string
  /** The app and the keys that the consumer was authenticated with. */
  standing: string
  /** Key ids from the assertion. */
  kids: readonly string[]
  form: FeedForm
}

export interface HubLimits {
  /** The most streams in this process. Further ones are refused. */
  streams: number
  /** The most streams of one app. It is more than an app has processes, and leaves room for other apps. */
  streamsOfApp: number
  /** Bytes that may wait for one reader, besides those in its socket. A slower one is dropped and resumes from the database. */
  waitingBytes: number
  heartbeatMs: number
}

const usualLimits: HubLimits = { streams: 10_000, streamsOfApp: 2_500, waitingBytes: 256 * 1024, heartbeatMs: 15_000 }
/** How many streams are written to before other work gets its turn. */
const sliceSize = 100
/** Streams that catch up from the database at once. After a restart all of them come back, and logins need connections too. */
const readersAtOnce = 2
const lastWordsMs = 500
const opening = Buffer.from(': open\n\n')
const heartbeat = Buffer.from(': heartbeat\n\n')

/** The response to one listening consumer. The hub writes to it once it has caught up from the database. */
export class ConsumerStream extends Readable {
  readonly owner: StreamOwner
  readonly #waitingBytes: number
  /** What was published while it catches up from the database. Undefined from then on. */
  #held: HubEvent[] | undefined = []
  #heldBytes = 0
  /** What it has read from the database, and must not get again. */
  #read: Snapshot | undefined
  #isFinished = false
  #hasRead = true
  #onRead: (() => void) | undefined

  constructor(owner: StreamOwner, waitingBytes: number) {
    super({ highWaterMark: 16 * 1024 })
    this.owner = owner
    this.#waitingBytes = waitingBytes
    this.push(opening)
  }

  /** Writes a chunk, or drops the reader if too much is waiting for it already. */
  send(chunk: Buffer): void {
    if (this.destroyed || this.#isFinished || chunk.length === 0) return
    if (this.readableLength > 0 && this.readableLength + chunk.length > this.#waitingBytes) this.destroy()
    else this.push(chunk)
  }

  get isLive(): boolean {
    return this.#held === undefined
  }

  /** Writes events, or keeps them until it has caught up. `chunk` is all of them. Events that `seen` sees never come again. */
  receive(events: readonly HubEvent[], chunk: Buffer, seen: Snapshot): void {
    if (this.#held) {
      this.#heldBytes += chunk.length
      this.#held = this.#heldBytes > this.#waitingBytes ? [] : [...this.#held, ...events]
    } else if (this.#read) {
      this.#sendUnread(events)
      if (seen.xmin >= this.#read.xmax) this.#read = undefined
    } else this.send(chunk)
  }

  /** What was published so far will be read from the database, which has it. */
  dropHeld(): void {
    if (this.#held) this.#held = []
    this.#heldBytes = 0
  }

  /**
   * Says that it has read what `read` sees. Everything published since `dropHeld` follows, unless that is too much to keep. Then it
   * returns false, and has to read on.
   */
  goLive(read: Snapshot): boolean {
    if (this.#heldBytes > this.#waitingBytes) return false
    const held = this.#held ?? []
    this.#held = undefined
    this.#read = read
    this.#sendUnread(held)
    return true
  }

  /** The events that it has read are of another history. It cannot go on if it is amid them. */
  startOver(reset: Buffer): void {
    if (!this.isLive) return void this.destroy()
    this.#read = undefined
    this.send(reset)
  }

  #sendUnread(events: readonly HubEvent[]): void {
    const read = this.#read
    this.send(Buffer.concat(events.filter(({ position }) => !read || !sees(read, position)).map(({ frame }) => frame)))
  }

  /** Resolves when the reader has taken most of the written data, or is gone. */
  async drained(): Promise<void> {
    if (this.destroyed || this.readableLength < this.readableHighWaterMark) return
    await new Promise<void>((resolve) => {
      this.#onRead = resolve
    })
  }

  /** Shows the reader that the server is alive, and drops a reader that has stopped reading. */
  beat(): void {
    if (this.readableLength === 0) this.send(heartbeat)
    else if (!this.#hasRead) this.destroy()
    this.#hasRead = false
  }

  /** Ends the response. A reader that does not take the rest in time reads it from the database when it comes back. */
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
 * Passes revocations to the consumers that listen to this process. One reader of the table publishes them here
 * (`workers/revocation-feed.ts`). A stream catches up from the database, while the hub keeps for it what is published meanwhile.
 */
export class RevocationHub {
  readonly id = randomUUID()
  /** Whether streams were opened whose standing may have changed since their consumers were authenticated. */
  hasNew = false
  /** Called when there may be something new in the table. */
  onWake: () => void = () => {}
  /** Called when this process has committed something new. */
  onAnnounce: () => void = () => {}
  /** Limits how many streams read from the database at once. */
  readonly readers = new Turns(readersAtOnce)
  readonly #limits: HubLimits
  readonly #streams = new Map<string, Set<ConsumerStream>>()
  #count = 0
  #isClosed = false
  #beating: NodeJS.Timeout | undefined

  constructor(limits: Partial<HubLimits> = {}) {
    this.#limits = { ...usualLimits, ...limits }
  }

  get streamsOfApp(): number {
    return this.#limits.streamsOfApp
  }

  get streamCount(): number {
    return this.#count
  }

  wake(): void {
    this.onWake()
  }

  /** Wakes the reader of this process and those of others. */
  announce(): void {
    this.onAnnounce()
  }

  /** What has no room for another stream of the app: the process, which may also be stopping, or only the app. */
  fullness(appId: string): 'app' | 'process' | undefined {
    if (this.#isClosed || this.#count >= this.#limits.streams) return 'process'
    return (this.#streams.get(appId)?.size ?? 0) >= this.#limits.streamsOfApp ? 'app' : undefined
  }

  /** Opens a stream, which keeps what is published until `goLive`. Undefined if there is no room. */
  open(owner: StreamOwner): ConsumerStream | undefined {
    if (this.fullness(owner.appId)) return undefined
    const stream = new ConsumerStream(owner, this.#limits.waitingBytes)
    const ofApp = this.#streams.get(owner.appId) ?? new Set()
    this.#streams.set(owner.appId, ofApp.add(stream))
    this.#count += 1
    this.#beating ??= setInterval(() => void this.#beat(), this.#limits.heartbeatMs)
    stream.once('close', () => this.#remove(stream))
    this.hasNew = true
    return stream
  }

  /** Passes events to the streams that they concern. `seen` sees all events up to now: these, and those of earlier calls. */
  async publish(events: readonly HubEvent[], seen: Snapshot): Promise<void> {
    if (events.length === 0) return
    let written = 0
    for (const [appId, streams] of [...this.#streams]) {
      const concerned = events.filter((event) => event.appId === null || event.appId === appId)
      if (concerned.length === 0) continue
      const portions = [1, 2].map((form) => framed(concerned.filter((event) => event.form <= form)))
      for (const stream of [...streams]) {
        const { events, chunk } = portions[stream.owner.form - 1]!
        stream.receive(events, chunk, seen)
        written += 1
        if (written % sliceSize === 0) await nextTurn()
      }
    }
    // Let readers take this portion before the next one comes.
    await nextTurn()
  }

  /** Sends `reset` to every stream: the database has another history. */
  async startOver(reset: Buffer): Promise<void> {
    for (const [index, stream] of this.#all().entries()) {
      stream.startOver(reset)
      if ((index + 1) % sliceSize === 0) await nextTurn()
    }
  }

  /** The owners of open streams: each app, set of secrets and standing once. */
  owners(): StreamOwner[] {
    const owners = new Map<string, StreamOwner>()
    for (const { owner } of this.#all()) owners.set([owner.appId, owner.standing, ...owner.kids].join(), owner)
    return [...owners.values()]
  }

  /** Ends the streams of an app: all, or those whose consumers were authenticated with this standing. */
  endApp(appId: string, standing?: string): void {
    for (const stream of [...(this.#streams.get(appId) ?? [])])
      if (standing === undefined || stream.owner.standing === standing) stream.finish()
  }

  /** Ends every stream and accepts no more. */
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

/** Some events, and their bytes on the wire. */
function framed(events: readonly HubEvent[]): { events: readonly HubEvent[]; chunk: Buffer } {
  return { events, chunk: Buffer.concat(events.map(({ frame }) => frame)) }
}

/** Runs a limited number of tasks at once. The others wait in order. */
export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
