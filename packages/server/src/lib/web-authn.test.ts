import { readFileSync } from 'node:fs'
import { decodeAttestationObject, decodeCredentialPublicKey, parseAuthenticatorData } from '@simplewebauthn/server/helpers'
import { describe, expect, test } from 'vitest'
import { algorithms, PasskeyError, readAssertion, verifyAssertion, verifyRegistration } from './web-authn.ts'

/** The test vectors of Web Authentication Level 3, https://www.w3.org/TR/webauthn-3/#sctn-test-vectors, in hexadecimal. */
interface Vector {
  title: string
  credential_id: string
  registration: { challenge: string; clientDataJSON: string; attestationObject: string }
  authentication: { challenge: string; authenticatorData: string; clientDataJSON: string; signature: string }
}

const file = new URL('../../../../test/fixtures/webauthn-level-3.json', import.meta.url)
const vectors: Vector[] = JSON.parse(readFileSync(file, 'utf8'))
const party = { id: 'example.org', origin: 'https://example.org' }
const bytesOf = (hex: string) => Buffer.from(hex, 'hex')
const textOf = (hex: string) => bytesOf(hex).toString('base64url')

/** What the vector is, read by other means than ours. */
function read({ registration, authentication }: Vector) {
  const attestation = decodeAttestationObject(new Uint8Array(bytesOf(registration.attestationObject)))
  const made = parseAuthenticatorData(attestation.get('authData'))
  const used = parseAuthenticatorData(new Uint8Array(bytesOf(authentication.authenticatorData)))
  const said = (hex: string) => JSON.parse(bytesOf(hex).toString()) as { crossOrigin?: boolean; topOrigin?: string }
  const isFramed = (hex: string) => said(hex).crossOrigin === true || said(hex).topOrigin !== undefined
  const publicKey = made.credentialPublicKey ?? new Uint8Array()
  // 3 is `alg` of COSE.
  const algorithm = decodeCredentialPublicKey(publicKey).get(3) as number
  return { format: attestation.get('fmt'), made, used, publicKey, algorithm, isFramed }
}

function register({ credential_id, registration }: Vector, challenge = textOf(registration.challenge)) {
  const id = textOf(credential_id)
  const response = {
    clientDataJSON: textOf(registration.clientDataJSON),
    attestationObject: textOf(registration.attestationObject),
  }
  return verifyRegistration(party, { sent: JSON.stringify({ id, rawId: id, type: 'public-key', response }), challenge })
}

function signIn(vector: Vector, changes: Partial<Vector['authentication']> = {}) {
  const { challenge, clientDataJSON, authenticatorData, signature } = { ...vector.authentication, ...changes }
  const id = textOf(vector.credential_id)
  const response = {
    clientDataJSON: textOf(clientDataJSON),
    authenticatorData: textOf(authenticatorData),
    signature: textOf(signature),
  }
  const answer = readAssertion(JSON.stringify({ id, rawId: id, type: 'public-key', response }))
  const { publicKey, made } = read(vector)
  const stored = { credentialId: id, publicKey: Buffer.from(publicKey).toString('base64url'), isBackupEligible: made.flags.be }
  return verifyAssertion(party, { answer, challenge: textOf(challenge) }, stored)
}

const faultOf = (run: Promise<unknown>) =>
  run.then(
    () => 'none',
    (error: unknown) => (error instanceof PasskeyError ? error.fault : error),
  )

describe.each(vectors.map((vector) => [vector.title, vector] as const))('the published test vector "%s"', (_, vector) => {
  const { format, algorithm, made, used, isFramed } = read(vector)
  const { registration, authentication } = vector

  test('a passkey is added only in a requested form, on our page, and after the person was verified', async () => {
    const isAsked = (format === 'none' || format === 'packed') && algorithms.includes(algorithm)
    const isTaken = isAsked && made.flags.uv && !isFramed(registration.clientDataJSON)
    if (!isTaken) return expect(await faultOf(register(vector))).toMatch(/^(cross_origin|attestation|signature)$/)
    const { credentialId, isBackupEligible, isBackedUp, signCount } = await register(vector)
    expect(credentialId).toBe(textOf(vector.credential_id))
    expect([isBackupEligible, isBackedUp, signCount]).toEqual([made.flags.be, made.flags.bs, made.counter])
    expect(await faultOf(register(vector, 'another'))).toBe('challenge')
  })

  test('a passkey signs in only on our page, and after the person was verified', async () => {
    if (isFramed(authentication.clientDataJSON)) return expect(await faultOf(signIn(vector))).toBe('cross_origin')
    // Passkeys of other algorithms are never added. The library knows some of them.
    if (!algorithms.includes(algorithm)) return
    if (!used.flags.uv) return expect(await faultOf(signIn(vector))).toBe('signature')
    expect(await signIn(vector)).toEqual({ signCount: used.counter, isBackedUp: used.flags.bs })
  })

  test('a passkey signs in with nothing but the signed data', async () => {
    if (isFramed(authentication.clientDataJSON)) return
    const flipped = (hex: string) =>
      `${hex.slice(0, -2)}${(Number.parseInt(hex.slice(-2), 16) ^ 1).toString(16).padStart(2, '0')}`
    // `verified` is not claimed either if the flag of the verified person is set afterwards: the signature covers it.
    const data = bytesOf(authentication.authenticatorData)
    data[32] = (data[32] ?? 0) ^ 0x04
    expect(await faultOf(signIn(vector, { authenticatorData: data.toString('hex') }))).toBe('signature')
    expect(await faultOf(signIn(vector, { signature: flipped(authentication.signature) }))).toBe('signature')
  })
})

test('some vectors are accepted, so that the other tests prove something', async () => {
  const results = await Promise.all(
    vectors.map(async (vector) => [await faultOf(register(vector)), await faultOf(signIn(vector))]),
  )
  const added = results.filter(([fault]) => fault === 'none').length
  const used = results.filter(([, fault]) => fault === 'none').length
  expect([added > 1, used > 2], JSON.stringify(results)).toEqual([true, true])
})
