import { lookup as resolveHost } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublicAddress, isWebPort } from '../lib/public-address.ts'

/** Every address of a host. */
export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

/** Which untrusted hosts may be dialled. */
interface DialRules {
  /** Whether this host, a name or an address, may be at a private address or on this machine. */
  mayBePrivate: (host: string) => boolean
  /** The setting that the error names when a private address is refused. */
  setting: string
  timeoutMs: number
  resolve: Resolve
}

/** Allows one look-up per host at a time: one whose DNS hangs holds one of the few threads that the process resolves names on. */
const lookups = new Map<string, ReturnType<Resolve>>()

export const resolveOnce: Resolve = (hostname) => {
  const running = lookups.get(hostname)
  if (running) return running
  const lookup = resolveHost(hostname, { all: true }).finally(() => lookups.delete(hostname))
  lookups.set(hostname, lookup)
  return lookup
}

/** An undici connector for untrusted hosts. Checks each dial by the address that it goes to. */
export function guardedConnector(rules: DialRules): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    // The signal of the request fires first. This timeout ends a socket that is still connecting after that.
    timeout: rules.timeoutMs + 1_000,
    lookup: guardedLookup(rules),
  })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    const refusal = refuseDial(host, options.port, rules)
    if (refusal) queueMicrotask(() => callback(refusal, null))
    else connect(options, callback)
  }
}

/** Checks a host before its name is looked up. */
function refuseDial(host: string, port: string, { mayBePrivate, setting }: DialRules): Error | undefined {
  if (!isWebPort(port)) return new Error(`port ${port} belongs to another protocol`)
  if (isIP(host) && !mayBePrivate(host) && !isPublicAddress(host)) return new PrivateAddressError(host, setting)
}

class PrivateAddressError extends Error {
  constructor(host: string, setting: string) {
    super(`${host} is not a public address (${setting})`)
  }
}

/** The checked addresses are the ones that are dialled, so a second DNS answer has no effect. */
function guardedLookup({ resolve, mayBePrivate, setting }: DialRules): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const isRefused = !mayBePrivate(hostname) && addresses.some(({ address }) => !isPublicAddress(address))
        const [first] = addresses
        if (isRefused || !first) callback(new PrivateAddressError(hostname, setting), '')
        else if (options.all) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }
}
