import { keyBytes, type LaneProgram, laneBytes, laneProgram, layout, stateWords, textBytes } from './lane-program.ts'

/** Node has this global, but its types do not declare it. */
declare const WebAssembly: {
  Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer }
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  Instance: new (module: object, imports: object) => { readonly exports: Record<string, (argument: number) => void> }
}

/** The text that bcrypt encrypts with the state derived from password and salt. */
const plainText = new TextEncoder().encode('OrpheanBeholderScryDoubt')
/** bcrypt drops the last byte of the encrypted text. */
const digestBytes = 23
/** Rounds before the thread looks for other work: about 2 ms. */
const stepRounds = 32

export interface LaneJob {
  password: Uint8Array
  /** 16 bytes. */
  salt: Uint8Array
  cost: number
  /** The lane runs at least as many rounds as a hash of this cost takes. */
  costAtLeast: number
  done(digest: Uint8Array): void
}

interface RunningJob {
  rounds: number
  digestAfter: number
  endAfter: number
  digest: Uint8Array | undefined
  done(digest: Uint8Array): void
}

/** bcrypt for several passwords at once on this thread. Each has a lane, and may start or finish at any step of the others. */
export class Lanes {
  readonly count: number
  /** Holds no data of a finished job. */
  readonly memory: ArrayBuffer
  readonly #bytes: Uint8Array
  readonly #words: Int32Array
  readonly #view: DataView
  readonly #program: LaneProgram
  readonly #initialState = piWords(stateWords)
  /** Indexed by lane. The taken lanes come first. */
  readonly #jobs: RunningJob[] = []

  /** `program` is the result of `laneProgram(count)`. Threads that share one do not each generate it. */
  constructor(count: number, program = laneProgram(count)) {
    this.count = count
    const memory = new WebAssembly.Memory({ initial: 1 })
    this.memory = memory.buffer
    this.#bytes = new Uint8Array(this.memory)
    this.#words = new Int32Array(this.memory)
    this.#view = new DataView(this.memory)
    this.#program = instantiate(count, program, memory)
  }

  get taken(): number {
    return this.#jobs.length
  }

  /** Puts a job into a free lane. Throws RangeError when there is none. */
  start({ password, salt, cost, costAtLeast, done }: LaneJob): void {
    if (this.taken === this.count) throw new RangeError('no lane is free')
    const lane = this.taken * laneBytes
    // The key ends in a zero byte, like a string in C.
    this.#fill(lane + layout.key, keyBytes, password, password.length + 1)
    this.#fill(lane + layout.salt, keyBytes, salt, salt.length)
    this.#fill(lane + layout.text, textBytes, plainText, plainText.length)
    this.#words.set(this.#initialState, (lane + layout.state) / Int32Array.BYTES_PER_ELEMENT)
    this.#program.begin(lane)
    const digestAfter = 2 ** cost
    this.#jobs.push({ rounds: 0, digestAfter, endAfter: Math.max(digestAfter, 2 ** costAtLeast), digest: undefined, done })
  }

  /** Runs some rounds of all jobs, and calls `done` for those that finish. */
  step(): void {
    const rounds = Math.min(
      stepRounds,
      ...this.#jobs.map(({ rounds, digest, digestAfter, endAfter }) => (digest ? endAfter : digestAfter) - rounds),
    )
    this.#program.advance[this.taken - 1]?.(rounds)
    // Backwards, since freeing a lane moves the last one into its place.
    for (let number = this.taken - 1; number >= 0; number -= 1) this.#account(number, rounds)
  }

  #account(number: number, rounds: number): void {
    const job = this.#jobs[number]
    if (!job) return
    job.rounds += rounds
    if (job.rounds === job.digestAfter) job.digest = this.#digest(number * laneBytes)
    if (job.rounds < job.endAfter || !job.digest) return
    this.#free(number)
    job.done(job.digest)
  }

  #digest(lane: number): Uint8Array {
    this.#program.finish(lane)
    this.#swapWords(lane + layout.text, textBytes)
    return this.#bytes.slice(lane + layout.text, lane + layout.text + digestBytes)
  }

  /** Moves the last lane here, so that the taken lanes stay together, and fills the lane that becomes free with zeros. */
  #free(number: number): void {
    const last = this.#jobs.pop()
    const lastLane = this.taken * laneBytes
    if (last && number < this.taken) {
      this.#bytes.copyWithin(number * laneBytes, lastLane, lastLane + laneBytes)
      this.#jobs[number] = last
    }
    this.#bytes.fill(0, lastLane, lastLane + laneBytes)
  }

  /** Fills `length` bytes by repeating the first `period` bytes of the source. Missing bytes of the source count as zeros. */
  #fill(address: number, length: number, source: Uint8Array, period: number): void {
    for (let index = 0; index < length; index += 1) this.#bytes[address + index] = source[index % period] ?? 0
    this.#swapWords(address, length)
  }

  /** Blowfish's words are big-endian, those of WebAssembly little-endian. */
  #swapWords(address: number, length: number): void {
    for (let at = address; at < address + length; at += Int32Array.BYTES_PER_ELEMENT)
      this.#view.setInt32(at, this.#view.getInt32(at), true)
  }
}

function instantiate(count: number, program: Uint8Array<ArrayBuffer>, memory: object): LaneProgram {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(program), { host: { memory } })
  const { begin, finish } = exports
  const advance = Array.from({ length: count }, (_, index) => exports[`advance${index + 1}`])
  if (!begin || !finish || !advance.every((each) => each !== undefined)) throw new Error('the lane program is incomplete')
  return { begin, finish, advance }
}

/**
 * The first `count` 32-bit words of the fraction of π, which are the initial state of Blowfish. They are computed with the
 * Chudnovsky series, so there is no table to trust.
 */
function piWords(count: number): Int32Array {
  // Compute spare bits, since the last ones are rounded.
  const spare = 64n
  const bits = BigInt(count) * 32n + spare
  const words = new Int32Array(count)
  let fraction = (piTimes(bits) & ((1n << bits) - 1n)) >> spare
  for (let index = count - 1; index >= 0; index -= 1) {
    words[index] = Number(BigInt.asIntN(32, fraction))
    fraction >>= 32n
  }
  return words
}

/** π · 2^bits. Each term of the series gives 47 further bits. */
function piTimes(bits: bigint): bigint {
  const one = 1n << bits
  let term = one
  let sum = 13_591_409n * one
  for (let k = 1n; term !== 0n; k += 1n) {
    term = (-term * (6n * k - 5n) * (2n * k - 1n) * (6n * k - 1n) * 24n) / (k ** 3n * 640_320n ** 3n)
    sum += term * (13_591_409n + 545_140_134n * k)
  }
  return (426_880n * squareRoot(10_005n << (2n * bits)) * one) / sum
}

/** By Newton's method, from above. */
function squareRoot(value: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(value.toString(16).length * 2))
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}
