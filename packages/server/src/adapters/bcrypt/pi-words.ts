/**
 * The first `count` 32-bit words of the fraction of π, which are the initial state of Blowfish. They are computed with the
 * Chudnovsky series, so there is no table to trust.
 */
export function piWords(count: number): Int32Array {
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
