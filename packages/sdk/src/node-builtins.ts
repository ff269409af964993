import type { Buffer } from 'node:buffer'
import type { hash } from 'node:crypto'

/**
 * A `Buffer` with the calls that `write` and `toString` choose from by their encoding. Node does not document them; they
 * are as old as `Buffer`, and going straight to them saves a twentieth of a verification.
 */
export interface TokenBuffer extends Buffer {
  utf8Write(text: string, offset: number): number
  latin1Write(text: string, offset: number): number
  base64urlWrite(text: string): number
  utf8Slice(start: number, end: number): string
}

export interface NodeBuiltins {
  readonly hash: typeof hash
  readonly utf8Bytes: (text: string) => Uint8Array
  readonly allocate: (size: number) => TokenBuffer
}

/**
 * What verification uses of Node, or undefined where it is not to be had; WebCrypto serves there.
 * Asked for at run time: an `import` of `node:crypto` would stop bundlers for Workers, Deno and browsers.
 */
export function nodeBuiltins(): NodeBuiltins | undefined {
  const hash = builtin('node:crypto')?.hash
  const Buffer = builtin('node:buffer')?.Buffer
  // Runtimes that imitate Node may lack either.
  if (!hash || !Buffer || !('base64urlWrite' in Buffer.prototype)) return undefined
  return { hash, utf8Bytes: (text) => Buffer.from(text, 'utf8'), allocate: (size) => Buffer.alloc(size) as TokenBuffer }
}

/** A module of Node by its name, where there is one. */
export const builtin = ((name: string) => globalThis.process?.getBuiltinModule?.(name)) as typeof process.getBuiltinModule
