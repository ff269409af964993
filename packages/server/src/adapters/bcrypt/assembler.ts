// A WebAssembly assembler with just what bcrypt needs: each function returns the bytes of an expression or a statement. It needs
// no build step, and can generate the program for any number of lanes.

/** The bytes of some instructions, as nested arrays: combining pieces does not copy their bytes. */
export type Code = number | readonly Code[]

/** The index of a variable in a function. Parameters come first. */
export type Local = number

/** A function that takes 32-bit integers and returns nothing. */
export interface WasmFunction {
  name: string
  parameters: number
  locals: number
  body: Code
}

const i32 = 0x7f
const nothing = 0x40
const end = 0x0b
const alignedToFour = 2

export const get = (local: Local): Code => [0x20, unsigned(local)]
export const set = (local: Local, value: Code): Code => [value, 0x21, unsigned(local)]
export const constant = (value: number): Code => [0x41, signed(value)]
export const add = (left: Code, right: Code): Code => [left, right, 0x6a]
export const and = (left: Code, right: Code): Code => [left, right, 0x71]
export const xor = (left: Code, right: Code): Code => [left, right, 0x73]
export const lessThan = (left: Code, right: Code): Code => [left, right, 0x49]
/** Shifts right, or left if `bits` is negative. Fills with zeros. */
export const shift = (value: Code, bits: number): Code => [value, constant(Math.abs(bits)), bits < 0 ? 0x74 : 0x76]
/** The word in memory at an address plus a fixed offset. */
export const load = (address: Code, offset: number): Code => [address, 0x28, alignedToFour, unsigned(offset)]
export const store = (address: Code, offset: number, value: Code): Code => [address, value, 0x36, alignedToFour, unsigned(offset)]
/** Runs the body, then repeats it while the condition is not 0. */
export const doWhile = (body: Code, condition: Code): Code => [0x03, nothing, body, condition, 0x0d, 0, end]

/** A module with these functions. It imports its memory as `host.memory`. */
export function assemble(functions: readonly WasmFunction[]): Uint8Array<ArrayBuffer> {
  const header = [0, ...ascii('asm'), 1, 0, 0, 0]
  const types = functions.map(({ parameters }) => [0x60, vector(Array.from({ length: parameters }, () => i32)), vector([])])
  const exports = functions.map((each, index) => [name(each.name), 0, unsigned(index)])
  const bodies = functions.map(({ locals, body }) => sized([vector([[unsigned(locals), i32]]), body, end]))
  return Uint8Array.from(
    bytesOf([
      header,
      section(1, types),
      section(2, [[name('host'), name('memory'), 2, 0, 1]]),
      section(3, [...functions.keys()].map(unsigned)),
      section(7, exports),
      section(10, bodies),
    ]),
  )
}

function section(id: number, entries: readonly Code[]): Code {
  return [id, sized(vector(entries))]
}

function vector(entries: readonly Code[]): Code {
  return [unsigned(entries.length), entries]
}

function sized(code: Code): Code {
  const bytes = bytesOf(code)
  return [unsigned(bytes.length), bytes]
}

function name(text: string): Code {
  return sized(ascii(text))
}

function ascii(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0))
}

function bytesOf(code: Code, bytes: number[] = []): number[] {
  if (typeof code === 'number') bytes.push(code)
  else for (const piece of code) bytesOf(piece, bytes)
  return bytes
}

/** LEB128: seven bits per byte, lowest first. The top bit is set if more bytes follow. */
function unsigned(value: number): Code {
  return value < 0x80 ? value : [(value & 0x7f) | 0x80, unsigned(value >>> 7)]
}

/** Signed LEB128: the second-highest bit of the last byte is the sign. */
function signed(value: number): Code {
  return value >= -0x40 && value < 0x40 ? value & 0x7f : [(value & 0x7f) | 0x80, signed(value >> 7)]
}
