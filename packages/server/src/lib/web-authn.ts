import { isIP } from 'node:net'
import { z } from 'zod'

/** The site that passkeys belong to. `id` is its host. */
export interface RelyingParty {
  id: string
  origin: string
}

/**
 * The relying party of a `PUBLIC_URL`. Undefined where browsers allow no passkeys: at an IP address, and without https but for
 * localhost. Also if the URL has a path, since the pages are off then.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty | undefined {
  const { hostname, origin, protocol, pathname } = new URL(publicUrl)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (pathname !== '/' || (protocol !== 'https:' && !isLocal)) return undefined
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return undefined
  return { id: hostname, origin }
}

/** What is wrong with the answer of an authenticator. For the audit: the person reads only that the passkey does not work. */
type PasskeyFault =
  | 'malformed'
  | 'challenge'
  | 'origin'
  | 'cross_origin'
  | 'attestation'
  | 'not_resident'
  | 'backup_eligibility'
  | 'signature'

export class PasskeyError extends Error {
  readonly fault: PasskeyFault

  constructor(fault: PasskeyFault) {
    super(fault)
    this.fault = fault
  }
}

/** ES256, EdDSA and RS256, which all authenticators know one of. */
export const algorithms = [-7, -8, -257]

/** As long as WebAuthn lets a credential id be. A longer one does not fit into an index of Postgres. */
const mostIdBytes = 1_023

const bytes = z
  .string()
  .max(12_000)
  .regex(/^[A-Za-z0-9_-]+$/)
const answerOf = <R extends z.ZodRawShape>(response: R) =>
  z.object({ id: bytes, rawId: bytes, type: z.literal('public-key'), response: z.object(response) })

/** The JSON forms of WebAuthn Level 3, section 5.1. Members that are not read are dropped. */
const assertion = answerOf({
  clientDataJSON: bytes,
  authenticatorData: bytes,
  signature: bytes,
  userHandle: bytes.nullish(),
})
const registration = answerOf({
  clientDataJSON: bytes,
  attestationObject: bytes,
  transports: z.array(z.string().max(40)).max(10).optional(),
}).extend({
  clientExtensionResults: z.object({ credProps: z.object({ rk: z.boolean().optional() }).optional() }).optional(),
})
export type Assertion = z.output<typeof assertion>

const clientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
})

export function readAssertion(sent: string): Assertion {
  return read(assertion, sent)
}

function read<T>(schema: z.ZodType<T>, sent: string): T {
  try {
    return schema.parse(JSON.parse(sent))
  } catch {
    throw new PasskeyError('malformed')
  }
}

/** Checks what the browser says of itself. The signature is over the same bytes. */
function checkClientData(encoded: string, party: RelyingParty, expected: { type: string; challenge: string }): void {
  const said = read(clientData, Buffer.from(encoded, 'base64url').toString())
  if (said.type !== expected.type) throw new PasskeyError('malformed')
  if (said.challenge !== expected.challenge) throw new PasskeyError('challenge')
  if (said.origin !== party.origin) throw new PasskeyError('origin')
  if (said.crossOrigin || said.topOrigin !== undefined) throw new PasskeyError('cross_origin')
}

/** It takes long to load, and most processes of a service never need it. */
const load = () => import('@simplewebauthn/server')

export interface NewPasskey {
  credentialId: string
  /** COSE, in base64url. */
  publicKey: string
  signCount: number
  transports: string[]
  isBackupEligible: boolean
  isBackedUp: boolean
}

/** Verifies that an authenticator made a passkey for this site after it verified the person. Throws `PasskeyError`. */
export async function verifyRegistration(
  party: RelyingParty,
  { sent, challenge }: { sent: string; challenge: string },
): Promise<NewPasskey> {
  const answer = read(registration, sent)
  checkClientData(answer.response.clientDataJSON, party, { type: 'webauthn.create', challenge })
  // The browser says so, unsigned; a passkey that cannot be found without the address would never be offered.
  if (answer.clientExtensionResults?.credProps?.rk === false) throw new PasskeyError('not_resident')
  const { verifyRegistrationResponse } = await load()
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const format = attempt('attestation', () =>
    decodeAttestationObject(new Uint8Array(Buffer.from(answer.response.attestationObject, 'base64url'))).get('fmt'),
  )
  // Browsers remove any other statement, since none is asked for. No certificate is ever parsed.
  if (format !== 'none' && format !== 'packed') throw new PasskeyError('attestation')
  const { transports } = answer.response
  const { registrationInfo } = await attemptAsync('signature', () =>
    verifyRegistrationResponse({
      response: {
        ...answer,
        response: {
          clientDataJSON: answer.response.clientDataJSON,
          attestationObject: answer.response.attestationObject,
        },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }),
  )
  if (!registrationInfo) throw new PasskeyError('signature')
  const { credential, credentialDeviceType, credentialBackedUp } = registrationInfo
  if (Buffer.byteLength(credential.id, 'base64url') > mostIdBytes) throw new PasskeyError('attestation')
  return {
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    signCount: credential.counter,
    transports: transports ?? [],
    isBackupEligible: credentialDeviceType === 'multiDevice',
    isBackedUp: credentialBackedUp,
  }
}

/**
 * Verifies that the passkey signed for this site after it verified the person. Returns its counter, which the caller compares, and
 * whether the passkey is backed up now. Throws `PasskeyError`.
 */
export async function verifyAssertion(
  party: RelyingParty,
  { answer, challenge }: { answer: Assertion; challenge: string },
  stored: { credentialId: string; publicKey: string; isBackupEligible: boolean },
): Promise<{ signCount: number; isBackedUp: boolean }> {
  checkClientData(answer.response.clientDataJSON, party, { type: 'webauthn.get', challenge })
  const { verifyAuthenticationResponse } = await load()
  const { clientDataJSON, authenticatorData, signature } = answer.response
  const { verified, authenticationInfo } = await attemptAsync('signature', () =>
    verifyAuthenticationResponse({
      response: { ...answer, response: { clientDataJSON, authenticatorData, signature }, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: { id: stored.credentialId, publicKey: new Uint8Array(Buffer.from(stored.publicKey, 'base64url')), counter: 0 },
    }),
  )
  if (!verified) throw new PasskeyError('signature')
  const { newCounter, credentialDeviceType, credentialBackedUp } = authenticationInfo
  if ((credentialDeviceType === 'multiDevice') !== stored.isBackupEligible) throw new PasskeyError('backup_eligibility')
  return { signCount: newCounter, isBackedUp: credentialBackedUp }
}

function attempt<T>(fault: PasskeyFault, run: () => T): T {
  try {
    return run()
  } catch {
    throw new PasskeyError(fault)
  }
}

async function attemptAsync<T>(fault: PasskeyFault, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch {
    throw new PasskeyError(fault)
  }
}
