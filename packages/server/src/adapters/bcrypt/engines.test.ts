import { afterEach, expect, test, vi } from 'vitest'
import { type BcryptEngine, LaneEngine, openEngine, ReferenceEngine } from './engines.ts'
import { laneCount } from './lane-program.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

const job = { password: 'correct horse', salt: new Uint8Array(16).fill(5), cost: 5, costAtLeast: 6 }

test('the lanes are used if they agree with bcryptjs', async () => {
  const { engine, fallback } = await openEngine()
  expect(engine).toBeInstanceOf(LaneEngine)
  expect(fallback).toBeUndefined()
  expect(Buffer.from(await engine.digest(job))).toEqual(Buffer.from(await new ReferenceEngine().digest(job)))
})

test('bcryptjs is used if the lanes differ in one bit of one digest', async () => {
  const reference = new ReferenceEngine()
  let asked = 0
  const changed: BcryptEngine = {
    async digest(job) {
      const digest = await reference.digest(job)
      asked += 1
      return asked === laneCount ? digest.map((byte, index) => (index === 22 ? byte ^ 1 : byte)) : digest
    },
  }
  expect(await openEngine({ reference: changed })).toEqual({
    engine: changed,
    fallback: `with ${laneCount} lanes, a hash differs from that of bcryptjs`,
  })
})

test('bcryptjs is used without WebAssembly', async () => {
  vi.stubGlobal('WebAssembly', undefined)
  const { engine, fallback } = await openEngine()
  expect(engine).toBeInstanceOf(ReferenceEngine)
  expect(fallback).toEqual(expect.any(String))
})
