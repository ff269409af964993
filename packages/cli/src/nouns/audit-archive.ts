import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Failure, messageOf, usageFailure } from '../command-line/exit-codes.ts'

/** What a part of an archive says of itself, under its signature. */
interface Part {
  service_id: string
  before: string
  first: boolean
  last: boolean
  after: { batch: number; seal: string }
  to: { batch: number; seal: string; position: number }
  events: number
}

/** An archive that was compared. `fault` is undefined if it is whole. */
interface ComparedArchive {
  /** The id of the service that wrote it: others may have the same key. */
  service: string | null
  events: number
  before: string | null
  /** The batch before the first one, and the last one. */
  after: Part['after'] | null
  to: Part['to'] | null
  fault: string | undefined
}

const beginOfPart = Buffer.from('{"part":')

/** Compares an archive with the signatures in it. Reads it once, in constant memory. */
export async function compareArchive(file: string, key: string): Promise<ComparedArchive> {
  const publicKey = parseKey(key)
  const compared: ComparedArchive = { service: null, events: 0, before: null, after: null, to: null, fault: undefined }
  let previous: Part | undefined
  let begin = 1
  let number = 0
  let digest = createHash('sha256')
  const source = createReadStream(file)
  const unpacked = /\.gz$/i.test(file) ? pipeline(source, createGunzip(), () => {}) : source
  try {
    for await (const line of linesOf(unpacked)) {
      number += 1
      if (previous?.last) return { ...compared, fault: `line ${number} stands after the end of the archive` }
      if (!line.subarray(0, beginOfPart.length).equals(beginOfPart)) {
        digest.update(line).update('\n')
        continue
      }
      const part = signedPart(line.toString(), publicKey, digest.digest('base64url'))
      if (!part) return { ...compared, fault: `lines ${begin} to ${number} are not what the service wrote` }
      if (!follows(part, previous)) return { ...compared, fault: `a part is missing before line ${begin}` }
      compared.service = part.service_id
      compared.events += part.events
      compared.before = part.before
      compared.after ??= part.after
      compared.to = part.to
      previous = part
      begin = number + 1
      digest = createHash('sha256')
    }
  } catch (error) {
    throw new Failure('invalid', `cannot read ${file}: ${messageOf(error)}`, { code: 'file_unreadable' })
  }
  return previous?.last ? compared : { ...compared, fault: 'the end of the archive is missing' }
}

/** Only a line feed ends a line. The readline of Node also ends one at U+2028, which JSON does not escape. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer[] = []
  for await (const chunk of input) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)])
      rest = []
      start = end + 1
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
  }
  if (rest.length > 0) yield Buffer.concat(rest)
}

function parseKey(key: string): KeyObject {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key }, format: 'jwk' })
  } catch {
    throw usageFailure('--key must be the KEY that audit archive has printed')
  }
}

/** Undefined if the line is not signed with the key, or is about other lines. */
function signedPart(line: string, key: KeyObject, digest: string): Part | undefined {
  try {
    const { part, digest: signedDigest, signature } = JSON.parse(line)
    if (signedDigest !== digest) return undefined
    const signed = Buffer.from(`gatehouse-audit-archive\n${JSON.stringify(part)}\n${digest}`)
    return verify(null, signed, key, Buffer.from(signature, 'base64url')) ? part : undefined
  } catch {
    return undefined
  }
}

function follows(part: Part, previous: Part | undefined): boolean {
  if (!previous) return part.first
  const { to } = previous
  const isNext = !part.first && part.after.batch === to.batch && part.after.seal === to.seal
  return isNext && part.service_id === previous.service_id && part.before === previous.before
}
