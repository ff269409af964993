import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
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
  events: number
  before: string | null
  /** The batch before the first one, and the last one. */
  after: Part['after'] | null
  to: Part['to'] | null
  fault: string | undefined
}

const beginOfPart = '{"part":'

/** Compares an archive with the signatures in it. Reads it once, in constant memory. */
export async function compareArchive(file: string, key: string): Promise<ComparedArchive> {
  const publicKey = parseKey(key)
  const compared: ComparedArchive = { events: 0, before: null, after: null, to: null, fault: undefined }
  let previous: Part | undefined
  let begin = 1
  let number = 0
  let digest = createHash('sha256')
  const source = createReadStream(file)
  const unpacked = /\.gz$/i.test(file) ? pipeline(source, createGunzip(), () => {}) : source
  try {
    for await (const line of createInterface({ input: unpacked, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1
      if (previous?.last) return { ...compared, fault: `line ${number} stands after the end of the archive` }
      if (!line.startsWith(beginOfPart)) {
        digest.update(`${line}\n`)
        continue
      }
      const part = signedPart(line, publicKey, digest.digest('base64url'))
      if (!part) return { ...compared, fault: `lines ${begin} to ${number} are not what the service wrote` }
      if (!follows(part, previous)) return { ...compared, fault: `a part is missing before line ${begin}` }
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
