// Blowfish as bcrypt uses it, for several passwords at once. A round of Blowfish waits for its four table look-ups, so one hash
// leaves most of a core idle. The program interleaves the rounds of independent hashes, one per lane, to fill these waits.
// docs/why/adr/0013-bcrypt-in-lanes.md has the figures.
import {
  add,
  and,
  assemble,
  type Code,
  constant,
  doWhile,
  get,
  type Local,
  lessThan,
  load,
  set,
  shift,
  store,
  type WasmFunction,
  xor,
} from './assembler.ts'

const wordBytes = 4
const blockBytes = 8

/** The number that gives the most hashes per processor time. */
export const laneCount = 4

/** The words of Blowfish's state: 18 subkeys, then four S-boxes of 256. */
const subkeys = 18
const boxWords = 256
export const stateWords = subkeys + 4 * boxWords

/** The offsets of a lane's parts, in bytes. The password and the salt are repeated to the length of the subkeys. */
export const layout = { key: 0, salt: 72, text: 144, state: 168 }
export const keyBytes = subkeys * wordBytes
export const textBytes = 24
const boxes = layout.state + subkeys * wordBytes
const stateBytes = stateWords * wordBytes
/** The distance from one lane to the next: whole cache lines. */
export const laneBytes = 68 * 64

/** What the module exports. A `lane` argument is the address where the lane begins. */
export interface LaneProgram {
  /** Expands the state for the first time, with password and salt. */
  begin(lane: number): void
  /** Encrypts the text 64 times. Does not change the state. */
  finish(lane: number): void
  /** `advance[n - 1]` runs a number of rounds in the first n lanes. A hash of cost c takes 2^c rounds. */
  advance: readonly ((rounds: number) => void)[]
}

/** The program for up to `lanes` lanes, as a WebAssembly module. */
export function laneProgram(lanes: number): Uint8Array<ArrayBuffer> {
  const counts = Array.from({ length: lanes }, (_, index) => index + 1)
  return assemble([begin(), finish(), ...counts.map(advance)])
}

/** A block that is being encrypted in a lane. Its halves are in variables; `at` and `base` locate the lane in memory. */
interface Block {
  left: Local
  right: Local
  /** The address for an index into the lane. `base` and an offset of `layout` are added to it. */
  at(index: Code): Code
  /** The start of the lane if it is a constant, otherwise 0. */
  base: number
}

/** One of several lanes that advance together. Its base is a constant in each instruction. */
function fixedLane(number: number, firstLocal: Local): Block {
  return { left: firstLocal + 2 * number, right: firstLocal + 2 * number + 1, at: (index) => index, base: number * laneBytes }
}

/** A lane whose address is in a variable. */
function laneIn(address: Local, firstLocal: Local): Block {
  return { left: firstLocal, right: firstLocal + 1, at: (index) => add(index, get(address)), base: 0 }
}

const zero = constant(0)

const loadFrom = ({ at, base }: Block, index: Code, part: number): Code => load(at(index), base + part)
const storeTo = ({ at, base }: Block, index: Code, part: number, value: Code): Code => store(at(index), base + part, value)
const subkey = (block: Block, number: number): Code => loadFrom(block, zero, layout.state + number * wordBytes)
const mixInto = (local: Local, value: Code): Code => set(local, xor(get(local), value))

/** Blowfish's function for half a block: each byte picks a word of one S-box. */
function scramble(block: Block, half: Local): Code {
  const chosen = (box: number, bits: number) =>
    loadFrom(block, and(shift(get(half), bits), constant(0xff * wordBytes)), boxes + box * boxWords * wordBytes)
  return add(xor(add(chosen(0, 22), chosen(1, 14)), chosen(2, 6)), chosen(3, -2))
}

/** Mixes in the subkey first, since it is available before the scrambled half. */
function halfRound(block: Block, half: Local, other: Local, round: number): Code {
  return set(half, xor(xor(get(half), subkey(block, round)), scramble(block, other)))
}

/** Encrypts a block in each lane, with the sixteen rounds of all lanes interleaved. */
function encrypt(blocks: readonly Block[]): Code {
  const code = blocks.map((block) => mixInto(block.left, subkey(block, 0)))
  for (let round = 1; round <= 16; round += 2) {
    for (const block of blocks) code.push(halfRound(block, block.right, block.left, round))
    for (const block of blocks) code.push(halfRound(block, block.left, block.right, round + 1))
  }
  // Swap the halves on the stack, since no variable is free to hold one of them.
  for (const block of blocks) {
    const swapped = xor(get(block.right), subkey(block, 17))
    code.push(get(block.left), set(block.left, swapped), set(block.right, []))
  }
  return code
}

/** Replaces the words of the state, two at a time, with the encryption of the previous two. Runs `before` ahead of each. */
function replaceState(blocks: readonly Block[], index: Local, before: Code = []): Code {
  return [
    blocks.map(({ left, right }) => [set(left, zero), set(right, zero)]),
    set(index, zero),
    doWhile(
      [
        before,
        encrypt(blocks),
        blocks.map((block) => storeBlock(block, index, layout.state)),
        set(index, add(get(index), constant(blockBytes))),
      ],
      lessThan(get(index), constant(stateBytes)),
    ),
  ]
}

function storeBlock(block: Block, index: Local, part: number): Code {
  return [storeTo(block, get(index), part, get(block.left)), storeTo(block, get(index), part + wordBytes, get(block.right))]
}

/** Mixes the password into the subkeys, or the salt if `offset` is the distance between the two. */
function mixSubkeys(block: Block, offset: Code): Code {
  return Array.from({ length: subkeys }, (_, number) => {
    const mixed = xor(subkey(block, number), loadFrom(block, offset, layout.key + number * wordBytes))
    return storeTo(block, zero, layout.state + number * wordBytes, mixed)
  })
}

function begin(): WasmFunction {
  const [lane, index] = [0, 1]
  const block = laneIn(lane, 2)
  // The salt is four words: two for a block, the other two for the next.
  const salt = and(get(index), constant(blockBytes))
  const mixSalt = [
    mixInto(block.left, loadFrom(block, salt, layout.salt)),
    mixInto(block.right, loadFrom(block, salt, layout.salt + wordBytes)),
  ]
  return { name: 'begin', parameters: 1, locals: 3, body: [mixSubkeys(block, zero), replaceState([block], index, mixSalt)] }
}

function finish(): WasmFunction {
  const [lane, index, times] = [0, 1, 2]
  const block = laneIn(lane, 3)
  const body = doWhile(
    [
      set(block.left, loadFrom(block, get(index), layout.text)),
      set(block.right, loadFrom(block, get(index), layout.text + wordBytes)),
      set(times, constant(64)),
      doWhile([encrypt([block]), set(times, add(get(times), constant(-1)))], get(times)),
      storeBlock(block, index, layout.text),
      set(index, add(get(index), constant(blockBytes))),
    ],
    lessThan(get(index), constant(textBytes)),
  )
  return { name: 'finish', parameters: 1, locals: 4, body }
}

function advance(lanes: number): WasmFunction {
  const [rounds, index, offset] = [0, 1, 2]
  const blocks = Array.from({ length: lanes }, (_, number) => fixedLane(number, 3))
  const fromKeyToSalt = constant(layout.salt - layout.key)
  // First with the password, then with the salt. The loop ends when the offset is 0 again.
  const round = doWhile(
    [
      blocks.map((block) => mixSubkeys(block, get(offset))),
      replaceState(blocks, index),
      set(offset, xor(get(offset), fromKeyToSalt)),
    ],
    get(offset),
  )
  const body = doWhile([round, set(rounds, add(get(rounds), constant(-1)))], get(rounds))
  return { name: `advance${lanes}`, parameters: 1, locals: 2 + 2 * lanes, body }
}
